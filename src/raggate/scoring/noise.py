"""How far the means of equal runs lie apart: one build, asked the same questions several times. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import comb, isfinite
from typing import Annotated, Any, Self, TypeVar

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import replace

from raggate.base.numbers import STORED_DECIMALS, rounded
from raggate.models.provenance import Fingerprint
from raggate.models.scorecard import CaseScore, Scorecard

KEY = "noise"
"""What it is called in the fingerprint of a run, and so in its baseline."""

_CONFIDENCE = 0.95

Whole = Annotated[int, Meta(ge=0)]
_Kind = TypeVar("_Kind")


class Band(Struct, frozen=True, array_like=True):
    """Where the means of one metric in one mode lay, over the `cases` that it applies to.

    `low` and `high` are the lowest and the highest mean of a run. `differ` cases had not the same value in all runs.
    `moved` is the sum over the cases of the mean difference between two of their answers, failed calls left out: of a
    metric that is 0 or 1, how many flip between two runs on average.
    """

    low: float
    high: float
    differ: Whole
    cases: Whole
    moved: Annotated[float, Meta(ge=0)]

    def __post_init__(self) -> None:
        if self.differ > self.cases or not self.low <= self.high or not isfinite(self.high - self.low + self.moved):
            raise ValueError("numbers that contradict each other")

    @property
    def spread(self) -> float:
        """The largest difference between two of the runs."""
        return self.high - self.low


Bands = Mapping[str, Mapping[str, Band]]
"""Bands by mode and metric."""


class Noise(Struct, frozen=True, kw_only=True):
    """The bands of `runs` equal runs; `measured` is when they began, ISO 8601."""

    runs: Annotated[int, Meta(ge=2)]
    measured: str
    bands: Bands

    @property
    def moves(self) -> bool:
        """Whether any value was not the same in all runs, failed calls left out."""
        return any(band.differ and band.moved for metrics in self.bands.values() for band in metrics.values())

    @classmethod
    def of(cls, fingerprint: Any) -> Self | None:
        """Read it from a fingerprint, which may come from anywhere; None when it holds none that can be."""
        return read(fingerprint, KEY, cls)

    def stored(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"runs": self.runs, "measured": self.measured, "bands": stored_bands(self.bands)}


def read(fingerprint: Any, key: str, kind: type[_Kind]) -> _Kind | None:
    """Read a part of a fingerprint, which may come from anywhere; None if it is not what it should be."""
    try:
        return convert(fingerprint.get(key) if isinstance(fingerprint, dict) else None, kind)
    except ValidationError:
        return None


def stored_bands(bands: Bands) -> dict[str, Any]:
    """Bands as plain JSON values: lowest, highest, how many cases differ, of how many, and by how much in all."""
    return {mode: {name: _stored(band) for name, band in metrics.items()} for mode, metrics in bands.items()}


def measure(answers: Collection[Sequence[CaseScore]], measured: str) -> Noise | None:
    """Compute the bands of all metrics; None for fewer than two runs, or if a question lacks one."""
    runs = max(map(len, answers), default=0)
    if runs < 2 or any(len(scores) != runs for scores in answers):
        return None
    return Noise(runs=runs, measured=measured, bands=bands_of(answers))


def bands_of(answers: Collection[Sequence[CaseScore]]) -> Bands:
    """Compute the bands of all metrics of questions that were asked equally often; arguments as of `measure`."""
    modes = dict.fromkeys(scores[0].mode for scores in answers)
    return {mode: _bands([scores for scores in answers if scores[0].mode == mode]) for mode in modes}


def _bands(answers: Collection[Sequence[CaseScore]]) -> dict[str, Band]:
    names = dict.fromkeys(name for scores in answers for name in scores[0].values)
    bands = {}
    for name in names:
        values = [[score.values.get(name) for score in scores] for scores in answers]
        applicable = [row for row in values if any(value is not None for value in row)]
        means = [mean for run in zip(*applicable, strict=True) if (mean := _mean(run)) is not None]
        if means:
            bands[name] = Band(
                low=min(means),
                high=max(means),
                differ=sum(len(set(row)) > 1 for row in applicable),
                cases=len(applicable),
                moved=sum(_mean_difference(scores, name) for scores in answers),
            )
    return bands


def _mean_difference(scores: Sequence[CaseScore], metric: str) -> float:
    """Return the mean difference between two answers to a question, over all pairs of its answers that have a value."""
    known = (score.values.get(metric) for score in scores if score.failure is None)
    ordered = sorted(value for value in known if value is not None)
    count = len(ordered)
    if count < 2 or ordered[0] == ordered[-1]:
        return 0.0
    # each value is subtracted from those above it and has those below it subtracted
    return sum((2 * place - count + 1) * value for place, value in enumerate(ordered)) / comb(count, 2)


def kept(scorecard: Scorecard, fingerprint: Fingerprint) -> Scorecard:
    """Return a run that measured no noise that of another fingerprint, if it holds one."""
    other = Noise.of(fingerprint)
    if other is None or Noise.of(scorecard.fingerprint) is not None:
        return scorecard
    return replace(scorecard, fingerprint={**scorecard.fingerprint, KEY: other.stored()})


def share_not_seen(cases: int) -> float:
    """Return the largest share of questions that may differ although none did, at 95% confidence.

    Source: the exact (Clopper-Pearson) upper bound for no event in n trials, 1 - 0.05^(1/n). A question is one trial,
    however often it was asked: one that never differs says nothing of the others.
    """
    return float(1 - (1 - _CONFIDENCE) ** (1 / cases))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _fixed(value: float) -> float:
    return rounded(value, STORED_DECIMALS)


def _stored(band: Band) -> list[float]:
    return [_fixed(band.low), _fixed(band.high), band.differ, band.cases, _fixed(band.moved)]
