"""A calibration for a terminal: what equal runs differ by in each gated metric, and what that means for the gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from msgspec import Struct

from raggate.base.numbers import counted, fixed, often, percent
from raggate.models.baseline import Calibration
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.reports.terminal import Screen
from raggate.scoring import figures
from raggate.scoring.noise import Band, Noise, share_not_seen
from raggate.scoring.repeats import MAX_TIMES, Repeated

_HEAD = ("metric", "mean", "lowest", "highest", "noise", "tolerance", "questions that differ")


class _Row(Struct, frozen=True, kw_only=True):
    """A gated metric of a mode; `suffix` is the mode in brackets where there are several."""

    metric: str
    suffix: str
    mean: float | None
    band: Band
    tolerance: float

    @property
    def inside(self) -> bool:
        """Whether equal runs differ by more than the tolerance."""
        return self.band.spread > self.tolerance + EPSILON

    def words(self) -> tuple[str, str, str]:
        """Return its name, how far equal runs lie apart, and what the gate tolerates."""
        noise = figures.distance(self.metric, self.band.spread, beside=self.tolerance)
        return figures.title(self.metric) + self.suffix, noise, figures.tolerated(self.metric, self.tolerance)


def render(calibration: Calibration) -> str:
    """Write the table and what follows from it; the run must not have broken off."""
    noise = Noise.of(calibration.scorecard.fingerprint)
    rows = [] if noise is None else list(_rows(calibration, noise))
    screen = Screen(width=200, color=False, wrap=False)
    run = calibration.run
    times = Repeated.of(run.fingerprint)
    runs = times.times if times is not None else 1
    boots = "booted once" if calibration.boots == 1 else "booted for each"
    questions = counted(len({item.case.id for item in run.results}), "question")
    screen.line(f"suite {run.suite} · {questions} · {runs} equal runs, {boots}")
    screen.line()
    screen.table(_HEAD, [(_cells(row), None) for row in rows], names=(_HEAD[0], _HEAD[-1]))
    screen.line()
    meaning = _meaning(calibration, rows) if any(row.band.differ for row in rows) else ()
    for text in (*meaning, *_rankings(calibration)):
        screen.line(text)
    return screen.text()


def _rows(calibration: Calibration, noise: Noise) -> Iterator[_Row]:
    several = len(noise.bands) > 1
    for mode, bands in noise.bands.items():
        means = calibration.scorecard.slices.get(mode, {}).get(OVERALL, {})
        for metric, rule in calibration.run.config.gate.rules().items():
            if metric in bands:
                mean = means[metric].value if metric in means else None
                suffix, tolerance = f" ({mode})" if several else "", rule.tolerance or 0.0
                yield _Row(metric=metric, suffix=suffix, mean=mean, band=bands[metric], tolerance=tolerance)


def _cells(row: _Row) -> tuple[str, ...]:
    band = row.band
    mean = figures.amount(row.metric, row.mean)
    low = figures.amount(row.metric, band.low, beside=band.high)
    high = figures.amount(row.metric, band.high, beside=band.low)
    share = f" ({percent(band.differ / band.cases)})" if band.differ else ""
    name, noise, allowed = row.words()
    return name, mean, low, high, noise, allowed, f"{band.differ or 'none'} of {band.cases}{share}"


def _meaning(calibration: Calibration, rows: Sequence[_Row]) -> Iterator[str]:
    inside = [row for row in rows if row.inside]
    for name, noise, allowed in (row.words() for row in inside):
        yield f"A tolerance of {allowed} on {name} is inside this API's noise of {noise}."
    if calibration.pairs:
        shares = (f"{policy} {percent(red / calibration.pairs)}" for policy, red in calibration.alarms.items())
        yield (
            f"Of {calibration.pairs} comparisons of one of these runs with another, in which nothing changed, the gate "
            f"is red by gate.policy: {', '.join(shares)} (now {calibration.run.config.gate.policy})."
        )
    if inside:
        yield f"To be rid of that: {_advice(inside)}."


def _advice(inside: Sequence[_Row]) -> str:
    """Return the advice that makes noise smaller than the tolerances; a mean of n answers has 1/sqrt(n) of it."""
    # as they are set, under the keys of the configuration
    wide = (f"{row.metric}{row.suffix}: {fixed(ceil(row.band.spread * 100 - EPSILON) / 100, 2)}" for row in inside)
    tolerances = f"tolerances above the noise ({', '.join(wide)}), which see less"
    needed = [ceil((row.band.spread / row.tolerance) ** 2 - EPSILON) if row.tolerance else 0 for row in inside]
    more = f"ask.repeat: {max(needed)}, which costs that many times the calls, or"
    helps = all(0 < times <= MAX_TIMES for times in needed)
    return f"make the API answer alike, {more if helps else 'or set'} {tolerances}"


def _rankings(calibration: Calibration) -> Iterator[str]:
    repeated = Repeated.of(calibration.run.fingerprint)
    if repeated is None or not repeated.compared:
        return
    if repeated.differ:
        overlap = "" if repeated.overlap is None else f", rank-biased overlap {fixed(repeated.overlap, 2)}"
        yield (
            f"{repeated.differ} of {counted(repeated.compared, 'question')}{repeated.counting} did not come back with "
            f"the same ranking each time{overlap}."
        )
        return
    # a question that is in several modes is one
    share = share_not_seen(ceil(repeated.compared / repeated.modes))
    yield (
        f"Every ranking was the same each time: with 95% confidence, at most {fixed(share * 100, 1)}% of such "
        f"questions are ranked differently when asked {often(repeated.times)}. invariants.must_be_deterministic can "
        "hold the API to that."
    )
