"""What asking again took off a loss, and how much of it the noise of the baseline's own run explains. Pure.

Only noise that was seen in the same mode and metric explains anything: in a calibration where the baseline has one,
else in the sample that its run asked twice. The noise of the run that is judged has no say: a change could make its API
noisy.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from raggate.gate.statistics.beta import binomial_tail
from raggate.models.baseline import Baseline
from raggate.models.judging_quality import highest
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.scoring.noise import Band, Bands, Noise
from raggate.scoring.repeats import Repeated
from raggate.text.numbers import counted, fixed, often, setting

LUCK = 0.001
"""A loss that noise makes in fewer runs than this share is none of noise."""


def doubt(taken: Mapping[tuple[str, str], float], baseline: Baseline) -> str:
    """Return why noise as in the baseline's run does not explain what asking again took off the losses.

    Args:
        taken: by mode and metric the sum over the questions of how much less each lost; 0 where none did.

    Returns:
        The first reason; empty where noise explains all of it.
    """
    for (mode, metric), amount in taken.items():
        if amount <= EPSILON:
            continue
        band = band_of(baseline, mode, metric)
        if band is None:
            return f"the baseline knows of no noise in {metric} ({mode})"
        asked = _asked(baseline, mode, metric)
        most = explained(band, asked) * highest(metric)
        if amount > most + EPSILON:
            asks, _ = _seen(baseline)
            differing = f"{band.differ or 'none'} of {counted(band.cases, 'question')} asked {often(asks)} differed"
            return (
                f"asking again took back {_sum(amount)} of {asked} in {metric} ({mode}), and noise as in the "
                f"baseline's run, where {differing}, explains at most {setting(most)}"
            )
    return ""


def band_of(baseline: Baseline, mode: str, metric: str) -> Band | None:
    """How far a metric moved in the baseline's run, as if it went from 0 to 1; None where it tells of no noise."""
    band = _seen(baseline)[1].get(mode, {}).get(metric)
    if band is None or band.moved is None or not band.cases:
        return None
    return replace(band, moved=band.moved / highest(metric))


def _asked(baseline: Baseline, mode: str, metric: str) -> int:
    mean = baseline.scorecard.slices.get(mode, {}).get(OVERALL, {}).get(metric)
    return 0 if mean is None else mean.n


def explained(band: Band, asked: int) -> int:
    """Return the most that noise explains of the loss in a metric in one run, as a sum over its questions.

    Of what moves between equal runs half is lost. Taken is the least movement that the band shows, the lower end of
    Wilson's 95% interval, and with that the loss of the unluckiest run in a thousand, by the binomial distribution: a
    sum of values from 0 to 1 varies most where they are 0 or 1.

    Args:
        band: how far the values moved that were seen; of at least one question.
    """
    share = lost_share(band)
    most = 0
    while most < asked and binomial_tail(most + 1, asked, share) >= LUCK:
        most += 1
    return most


def lost_share(band: Band) -> float:
    """Return the share of the questions that is lost between two runs, at the least, by the noise that a band shows."""
    # loaded with the nouns of labels, and needed for noisy APIs alone
    from raggate.labels.intervals import wilson

    moved = min(band.moved or 0.0, band.cases)
    return wilson(moved, band.cases).lower / 2 if moved > EPSILON else 0.0


def _seen(baseline: Baseline) -> tuple[int, Bands]:
    """Return the noise that a baseline tells of, and how often each question was asked for it."""
    noise, repeated = Noise.of(baseline.scorecard.fingerprint), Repeated.of(baseline.scorecard.fingerprint)
    if noise is not None:
        return noise.runs, noise.bands
    return (1, {}) if repeated is None else (repeated.times, repeated.bands)


def _sum(amount: float) -> str:
    """Write a sum over questions, which is a number of them where the metric is 0 or 1."""
    return fixed(amount, 0 if abs(amount - round(amount)) <= EPSILON else 2)
