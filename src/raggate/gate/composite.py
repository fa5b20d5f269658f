"""One score for each question: the mean of the metrics that the configuration names. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set as AbstractSet
from math import fsum
from typing import Self

from msgspec import Struct

from raggate.config.gate_settings import Gate
from raggate.errors import UsageError
from raggate.models.comparison import Comparison
from raggate.models.judging import highest
from raggate.models.metric_names import ABSTENTION_ACCURACY
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction, by_question
from raggate.scoring.metrics import METRICS
from raggate.text.quote import quoted


class ScoredPair(Struct, frozen=True):
    """A question on both sides: by metric, its value before and after, from 0 to 1, higher for better.

    `before` and `after` are its scores, the means of these values.
    """

    case_id: str
    group: str | None
    values: Mapping[str, tuple[float, float]]
    before: float
    after: float

    @classmethod
    def of(cls, case: CaseScore, values: Mapping[str, tuple[float, float]]) -> Self:
        """Score a question by these values, of which there is at least one."""
        before, after = (fsum(side) / len(values) for side in zip(*values.values(), strict=True))
        return cls(case_id=case.case_id, group=case.group, values=values, before=before, after=after)

    @property
    def fell(self) -> tuple[str, ...]:
        """The metrics that got worse."""
        return tuple(metric for metric, (before, after) in self.values.items() if after < before - EPSILON)


def paired_scores(
    comparison: Comparison, mode: str, metrics: Sequence[str], left_out: AbstractSet[tuple[str, str]] = frozenset()
) -> Sequence[ScoredPair]:
    """Score the questions of a mode that are the same on both sides, and to which one of the metrics applies.

    Args:
        comparison: what was compared; a baseline without cases gives none.
        left_out: mode and case id of the cases that a waiver leaves out.
    """
    directions = directions_in(comparison, mode)
    scored = (
        (new, paired_values(old, new, metrics, directions)) for old, new in same_questions(comparison, mode, left_out)
    )
    return [ScoredPair.of(new, values) for new, values in scored if values]


def same_questions(
    comparison: Comparison, mode: str, left_out: AbstractSet[tuple[str, str]] = frozenset()
) -> Iterator[tuple[CaseScore, CaseScore]]:
    """Yield the questions of a mode that are the same on both sides, each with its past; see `paired_scores`."""
    baseline = comparison.baseline
    if baseline is None or comparison.incomparable:
        return
    before = by_question(baseline.scorecard.cases)
    for new in comparison.scorecard.cases:
        old = before.get((mode, new.case_id)) if new.mode == mode and (mode, new.case_id) not in left_out else None
        if old is not None and old.hash == new.hash:
            yield old, new


def directions_in(comparison: Comparison, mode: str) -> dict[str, Direction]:
    """Return the direction of every metric that a run has in a mode."""
    means = comparison.scorecard.slices.get(mode, {}).get(OVERALL, {})
    return {metric: mean.direction for metric, mean in means.items()}


def paired_values(
    old: CaseScore, new: CaseScore, metrics: Sequence[str], directions: Mapping[str, Direction]
) -> dict[str, tuple[float, float]]:
    """Return the values of the metrics that applied in the baseline; of abstention_accuracy where none of them did.

    A value that is gone is the worst one: an API must not get better by telling less.
    """
    for names in (metrics, (ABSTENTION_ACCURACY,)):
        known = [name for name in names if old.values.get(name) is not None]
        if known:
            return {name: (_value(old, name, directions), _value(new, name, directions)) for name in known}
    return {}


def _value(case: CaseScore, metric: str, directions: Mapping[str, Direction]) -> float:
    value = case.values.get(metric)
    if value is None:
        return 0.0
    share = value / highest(metric)
    return 1.0 - share if directions.get(metric) == "lower" else share


def check_names(gate: Gate, metrics: Collection[str], cutoffs: Sequence[int], name: str) -> None:
    """Check the metrics that a configuration makes a composite of. Those of the default need not all be there.

    Raises:
        UsageError: for a metric that is not known at the cut-offs, or is a grade that judges give.
    """
    for number, metric in enumerate(gate.composite if "composite" in gate.model_fields_set else ()):
        if metric not in metrics:
            raise UsageError(
                f"{name}: gate.composite[{number}]: no metric {quoted(metric)} at the cut-offs {[*cutoffs]}",
                hint=f"Known: {', '.join(metrics)}.",
            )
        if metric in METRICS and METRICS[metric].judged:
            raise UsageError(
                f"{name}: gate.composite[{number}]: {metric} is given by judges, and a composite is made of values "
                "from 0 to 1 that are computed",
                hint="Gate it by a tolerance of its own in gate.metrics.",
            )
