"""What the API's own noise says of a run: other rankings for the same question, and changes no larger than it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isinf

from msgspec.structs import replace

from raggate.base.dates import day
from raggate.base.numbers import counted, fixed, often, setting
from raggate.gate import wording
from raggate.gate.statistics.distributions import binomial_tail
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.judging import highest
from raggate.models.metric_names import counted_metrics
from raggate.models.provenance import Fingerprint
from raggate.models.scorecard import EPSILON, OVERALL, Scorecard
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import figures, repeats
from raggate.scoring.noise import Band, Bands, Noise
from raggate.scoring.repeats import Repeated

CALIBRATED_RUNS = 5
"""How often `raggate calibrate` asks everything by default."""

LUCK = 0.001
"""A loss that noise makes in fewer runs than this share is none of noise."""


def noisy(comparison: Comparison) -> bool:
    """Return whether the API answered otherwise when asked again, in this run or by what the baseline knows."""
    sides = [comparison.scorecard, *([comparison.baseline.scorecard] if comparison.baseline is not None else [])]
    return any(repeats.noisy(side.fingerprint) for side in sides)


def is_measured(baseline: Baseline) -> bool:
    """Return whether the noise of the API was measured for a baseline, by asking everything several times."""
    return Noise.of(baseline.scorecard.fingerprint) is not None


def way_out(scorecard: Scorecard) -> str:
    """Return what to do about noise that a baseline does not know, with what it costs; empty if it was measured."""
    return "" if Noise.of(scorecard.fingerprint) is not None else steadier(scorecard)


def steadier(scorecard: Scorecard) -> str:
    """Return how a baseline gets less lucky: as the mean of several runs, or of twice as many as it is now."""
    now = repeats.times_asked(scorecard.fingerprint)
    runs = min(2 * now, repeats.MAX_TIMES) if now > 1 else CALIBRATED_RUNS
    calls = counted(runs * max(len(scorecard.cases), 1), "call")
    of, more = (f"the mean of {now} runs", f" --runs {runs}") if now > 1 else ("a single run", "")
    command = f"`raggate calibrate --boot-each{more}`"
    return f"; the baseline is {of}: measure the noise with {command} ({calls}) and promote that run"


def unsteady(comparison: Comparison) -> Iterator[Reason]:
    """Return that questions came back otherwise, or not at all, when they were asked again."""
    repeated = Repeated.of(comparison.scorecard.fingerprint)
    if repeated is None:
        return
    if repeated.differ:
        names = f": {wording.some(repeated.questions)}" if repeated.questions else ""
        message = f"{other_rankings(repeated)}{_before(comparison)}: a difference of this size may be noise{names}"
        baseline = comparison.baseline
        message += way_out(baseline.scorecard) if baseline is not None else ""
        yield Reason("noise", message)
    if repeated.failed:
        again = "when asked a second time (no metric counts that)" if repeated.times == 2 else "more than once"
        message = f"{repeated.failed} of {counted(repeated.asked, 'question')}{repeated.counting} got no answer {again}"
        yield Reason("noise", message)


def other_rankings(repeated: Repeated) -> str:
    """Return how many questions came back otherwise when asked again, and by how much."""
    parts = [] if repeated.overlap is None else [f"rank-biased overlap {fixed(repeated.overlap, 2)}"]
    parts += [f"{count} flip {name}" for name, count in repeated.flips.items() if count]
    by = f" ({', '.join(parts)})" if parts else ""
    questions = counted(repeated.compared, "question") + repeated.counting
    return (
        f"asked {often(repeated.times)}, {repeated.differ} of {questions} returned other passages or another order{by}"
    )


def inside(comparison: Comparison, rows: Sequence[GatedMetric]) -> Iterator[Reason]:
    """Yield which gated metrics changed by no more than they do between equal runs. That excuses none of them.

    Only the noise of the baseline counts: that of the run is the change's own.
    """
    noise = Noise.of(comparison.baseline.scorecard.fingerprint) if comparison.baseline is not None else None
    if noise is None:
        return
    changes, places = [], []
    for row in rows:
        band = noise.bands.get(row.delta.mode, {}).get(row.delta.metric)
        moved = abs(row.delta.delta or 0.0)
        if row.gated and row.delta.slice == OVERALL and band and EPSILON < moved <= band.spread + EPSILON:
            spread = figures.distance(row.delta.metric, band.spread)
            changes.append(f"{wording.name(row.delta)} {figures.change(row.delta)} (noise {spread})")
            places.append((row.delta.metric, row.delta.mode, row.delta.slice))
    if changes:
        alike = f"no more than in {noise.runs} equal runs{_on(noise)}"
        message = f"{counted_metrics(places)} changed by {alike}, which excuses no loss: {wording.some(changes)}"
        yield Reason("noise", message)


def largest(fingerprint: Fingerprint) -> str:
    """Return of how many equal runs a baseline knows the noise, since when, and where it is largest; empty for none."""
    noise = Noise.of(fingerprint)
    if noise is None or not any(noise.bands.values()):
        return ""
    bands = ((name, band) for metrics in noise.bands.values() for name, band in metrics.items())
    name, widest = max(bands, key=lambda item: item[1].spread)
    size = f"largest in {figures.title(name)}: {figures.distance(name, widest.spread)}"
    return f"{noise.runs} equal runs{_on(noise)}, {size if widest.spread else 'none seen'}"


def kept(scorecard: Scorecard) -> Iterator[Reason]:
    """Return of a run that becomes the baseline what its noise will let pass."""
    fingerprint = scorecard.fingerprint
    if not repeats.noisy(fingerprint):
        return
    measured, repeated = Noise.of(fingerprint), Repeated.of(fingerprint)
    sampled = "" if repeated is None else other_rankings(repeated)
    seen = largest(fingerprint) if measured is not None and measured.moves else sampled
    yield Reason(
        "noise",
        f"the API did not always rank alike: {seen}. A later loss is no regression if this noise explains it and "
        f"asking again does not confirm it{way_out(scorecard)}",
    )


def _on(noise: Noise) -> str:
    measured = day(noise.measured)
    return f" on {measured}" if measured else ""


def _before(comparison: Comparison) -> str:
    baseline = comparison.baseline
    then = Repeated.of(baseline.scorecard.fingerprint) if baseline is not None else None
    return "" if then is None else f" ({then.differ} of {then.compared} in the baseline's run)"


def doubt(taken: Mapping[tuple[str, str], float], baseline: Baseline) -> str:
    """Return why noise as in the baseline's run does not explain what asking again took off the losses."""
    for (mode, metric), amount in taken.items():
        if amount <= EPSILON:
            continue
        band = band_of(baseline, mode, metric)
        if band is None:
            return f"the baseline has no noise figure for {figures.title(metric)} ({mode})"
        asked = _asked(baseline, mode, metric)
        most = explained(band, asked) * highest(metric)
        if amount > most + EPSILON:
            asks, _ = _seen(baseline)
            differing = f"{band.differ or 'none'} of {counted(band.cases, 'question')} asked {often(asks)} differed"
            back = f"asking again took back {_sum(amount)} of {asked} in {figures.title(metric)} ({mode})"
            noise = f"noise as in the baseline's run, where {differing}"
            return f"{back}, but {noise}, explains at most {setting(most)}"
    return ""


def exceeded(lost: Mapping[tuple[str, str], float], baseline: Baseline) -> bool:
    """Return whether more was lost in a metric than measured noise makes of it; False if it was never measured."""
    measured = Noise.of(baseline.scorecard.fingerprint)
    if measured is None:
        return False
    for (mode, metric), amount in lost.items():
        band = band_of(baseline, mode, metric)
        share = band.moved / band.cases / 2 if band is not None else 0.0
        if amount > unluckiest(share, _asked(baseline, mode, metric)) * highest(metric) + EPSILON:
            return True
    return False


def band_of(baseline: Baseline, mode: str, metric: str) -> Band | None:
    """How far a metric moved in the baseline's run, as if it went from 0 to 1; None where it tells of no noise."""
    band = _seen(baseline)[1].get(mode, {}).get(metric)
    if band is None or not band.cases or isinf(highest(metric)):
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
    """
    return unluckiest(lost_share(band), asked)


def unluckiest(share: float, asked: int) -> int:
    """Return how many of the questions the unluckiest run in a thousand loses, if each is lost with this chance."""
    most = 0
    while most < asked and binomial_tail(most + 1, asked, share) >= LUCK:
        most += 1
    return most


def lost_share(band: Band) -> float:
    """Return the share of the questions that is lost between two runs, at the least, by the noise that a band shows."""
    # loaded with the nouns of labels, and needed for noisy APIs alone
    from raggate.scoring.intervals import wilson

    moved = min(band.moved, band.cases)
    return wilson(moved, band.cases).lower / 2 if moved > EPSILON else 0.0


def _seen(baseline: Baseline) -> tuple[int, Bands]:
    noise, repeated = Noise.of(baseline.scorecard.fingerprint), Repeated.of(baseline.scorecard.fingerprint)
    if noise is not None:
        return noise.runs, noise.bands
    return (1, {}) if repeated is None else (repeated.times, repeated.bands)


def _sum(amount: float) -> str:
    """Write a sum over questions, which is a number of them where the metric is 0 or 1."""
    return fixed(amount, 0 if abs(amount - round(amount)) <= EPSILON else 2)
