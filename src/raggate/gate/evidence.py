"""A comparison and the policy -> whether the questions of each mode got worse, and what that could have shown. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from math import fsum
from typing import NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.gate_settings import DEFAULT_TOLERANCE, Gate
from raggate.gate.statistics.mcnemar import fewest_losses
from raggate.gate.statistics.paired import count_units, paired_test, unit_changes, unit_sizes
from raggate.gate.statistics.power import exceeding_drop, visible_drop, visible_drop_of_groups, worth_of_groups
from raggate.models.comparison import Comparison
from raggate.models.judging import highest
from raggate.models.metric_names import ABSTENTION_ACCURACY
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction, improvement, same_questions
from raggate.models.verdict import CompositeTest

Moves = tuple[Sequence[float], Sequence[str | None] | None]
"""Of some questions by how much each changed, and its group; no groups where each stands alone."""

ALPHA = 0.04
"""What is less likely by chance is red, if it is more than the margin or exceeds a tolerance.

Together with the tests of single metrics and what is red without a test, that is red by chance in 5% of runs at most.
"""

ALPHA_WARNING = 0.20
"""What is less likely by chance is a warning, if it is more than the margin."""

MARGIN = 0.02
"""A drop of at most this is no regression by itself, however certain it is."""


GROSS_TIMES = 3
GROSS_QUESTIONS = 8
"""A loss of more than so many times the tolerance, and of so many questions on balance, is red whatever a test says."""


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
        """Score a question by these values, at least one."""
        before, after = (fsum(side) / len(values) for side in zip(*values.values(), strict=True))
        return cls(case_id=case.case_id, group=case.group, values=values, before=before, after=after)

    @property
    def fell(self) -> tuple[str, ...]:
        """The metrics that got worse."""
        return tuple(metric for metric, (before, after) in self.values.items() if after < before - EPSILON)


def paired_scores(
    comparison: Comparison, mode: str, metrics: Sequence[str], left_out: AbstractSet[tuple[str, str]] = frozenset()
) -> Sequence[ScoredPair]:
    """Score the questions of a mode that are the same on both sides, and to which one of the metrics applies."""
    directions = directions_in(comparison, mode)
    pairs = compared_pairs(comparison, mode, left_out)
    scored = ((new, paired_values(old, new, metrics, directions)) for old, new in pairs)
    return [ScoredPair.of(new, values) for new, values in scored if values]


def compared_pairs(
    comparison: Comparison, mode: str | None = None, left_out: AbstractSet[tuple[str, str]] = frozenset()
) -> Iterator[tuple[CaseScore, CaseScore]]:
    """Yield the questions, of a mode or of all, that are the same on both sides, each with its past."""
    baseline = comparison.baseline
    if baseline is not None and not comparison.incomparable:
        for old, new in same_questions(baseline.scorecard.cases, comparison.scorecard.cases):
            if mode in {None, new.mode} and (new.mode, new.case_id) not in left_out:
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


class Sight(NamedTuple):
    """The smallest drops that are seen four times out of five: as a red run, and as one that is red or warns."""

    red: float
    told: float


def sight(sizes: Sequence[int], moving: float, modes: int, metrics: Sequence[str], gate: Gate) -> Sight:
    """Return which drops a policy sees when questions are lost whole, the hardest loss to see.

    Each unit has so many questions, and a share of units is `moving` both ways without any drop. So many modes share
    the level. Of the metrics of the composite the finest tolerance counts.
    """
    rules = [rule for name in metrics if (rule := gate.rule(name)) is not None]
    tolerance = min((rule.tolerance or 0.0 for rule in rules), default=1.0)
    worth = worth_of_groups(sizes)
    exceeds = exceeding_drop(worth, moving, tolerance)
    least = max(GROSS_TIMES * max(tolerance, DEFAULT_TOLERANCE), GROSS_QUESTIONS / sum(sizes))
    # a suite that is too small for the test is judged by its tolerances
    by_test = gate.policy != "threshold" and fewest_losses(len(sizes), ALPHA / modes) is not None
    red = visible_drop_of_groups(sizes, moving, ALPHA / modes) if by_test else exceeds
    red = min(red, exceeding_drop(worth, moving, min(1.0, least)))
    told = min(red, exceeds, visible_drop(worth, moving * worth / len(sizes), ALPHA_WARNING / modes))
    return Sight(max(MARGIN, red), max(MARGIN, told))


HARMLESS_RED = {20: 0.25, 30: 0.37, 50: 0.22, 100: 0.065}
"""By number of questions, how often `gate.policy: threshold` is red by a change that harms nothing: decision 17."""


def harmless_red(units: int, policy: str) -> float:
    """Return how often a policy is red by a harmless change of so many units, where that is often; else 0.

    It is for six metrics with a tolerance of 0.05, by the row of `HARMLESS_RED` whose number is nearest.
    """
    if policy != "threshold" or units > 2 * max(HARMLESS_RED):
        return 0.0
    return HARMLESS_RED[min(HARMLESS_RED, key=lambda size: abs(size - units))]


def composite_tests(
    comparison: Comparison,
    metrics: Mapping[str, Sequence[str]],
    left_out: AbstractSet[tuple[str, str]] = frozenset(),
    gate: Gate = Gate(),  # noqa: B008 - frozen
) -> tuple[CompositeTest, ...]:
    """Test every mode in which questions can be compared, once each."""
    modes = {mode: paired_scores(comparison, mode, names, left_out) for mode, names in metrics.items()}
    scored = {mode: pairs for mode, pairs in modes.items() if pairs}
    tests = [_composite_test(mode, metrics[mode], pairs, len(scored), gate) for mode, pairs in scored.items()]
    adjusted = holm([test.p for test in tests])
    return tuple(replace(test, adjusted=p) for test, p in zip(tests, adjusted, strict=True))


def _composite_test(
    mode: str, metrics: Sequence[str], pairs: Sequence[ScoredPair], tests: int, gate: Gate
) -> CompositeTest:
    changes = array("d", (pair.after - pair.before for pair in pairs))
    groups = [pair.group for pair in pairs]
    units, sizes = unit_changes(changes, groups), unit_sizes(groups)
    result, moving, level = paired_test(units), _moving(units), ALPHA / tests
    seen = sight(sizes, moving, tests, metrics, gate)
    before = fsum(pair.before for pair in pairs) / len(pairs)
    after = fsum(pair.after for pair in pairs) / len(pairs)
    return CompositeTest(
        mode=mode,
        metrics=tuple(metrics),
        parts=_parts(pairs),
        cases=len(pairs),
        lost=sum(change < -EPSILON for change in changes),
        gained=sum(change > EPSILON for change in changes),
        units=result.units,
        before=before,
        after=after,
        drop=max(0.0, before - after, *(_drop(metric, pairs) for metric in metrics)),
        p=result.p,
        adjusted=result.p,
        test=result.test,
        visible_drop=seen.red,
        told_drop=seen.told,
        visible_if_alike=visible_drop(len(sizes), moving, level),
        largest=max(sizes),
        lost_units=count_units(pair.group for pair, change in zip(pairs, changes, strict=True) if change < -EPSILON),
        fewest_losses=fewest_losses(result.units, level),
        fell={pair.case_id: pair.fell for pair in pairs if pair.after < pair.before - EPSILON},
    )


def metric_chances(
    comparison: Comparison, metrics: Mapping[str, Sequence[str]], left_out: AbstractSet[tuple[str, str]] = frozenset()
) -> dict[tuple[str, str], float]:
    """Return how likely by chance alone each metric of a mode falls as it did: one-sided, adjusted for their number.

    It is over the questions that have a value on both sides, as the fall itself is.
    """
    moves = (move for mode, names in metrics.items() for move in _moves(comparison, mode, names, left_out))
    chances = {metric: paired_test(changes, groups).p for metric, (changes, groups) in moves}
    return dict(zip(chances, holm([*chances.values()]), strict=True))


def _moves(
    comparison: Comparison, mode: str, names: Sequence[str], left_out: AbstractSet[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Moves]]:
    directions = directions_in(comparison, mode)
    same = [*compared_pairs(comparison, mode, left_out)] if names else []
    for name in names:
        moves, groups = array("d"), list[str | None]()
        for old, new in same:
            was, now = old.values.get(name), new.values.get(name)
            if was is not None and now is not None:
                moves.append(improvement(directions[name], was, now))
                groups.append(new.group)
        yield (mode, name), (moves, groups)


def _drop(metric: str, pairs: Sequence[ScoredPair]) -> float:
    sides = (pair.values[metric] for pair in pairs if metric in pair.values)
    falls = array("d", (was - now for was, now in sides))
    return fsum(falls) / len(falls) if len(falls) > 0 else 0.0


def _parts(pairs: Sequence[ScoredPair]) -> dict[str, int]:
    """Count by metric the questions that got worse and did so in it; those it does not apply to are no part of it."""
    parts: dict[str, int] = {}
    for pair in pairs:
        worse = pair.after < pair.before - EPSILON
        for metric, (before, after) in pair.values.items():
            parts[metric] = parts.get(metric, 0) + (worse and after < before - EPSILON)
    return parts


def _moving(changes: Sequence[float]) -> float:
    """The share of units that moves both ways alike, larger moves counting more: a loss has to stand out of it."""
    lost = fsum(change * change for change in changes if change < 0)
    gained = fsum(change * change for change in changes if change > 0)
    return min(1.0, 2 * min(lost, gained) / len(changes))


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust p-values for being several, so that they can be held to one level together.

    Source: Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    adjusted = [1.0] * len(chances)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(chances)), key=lambda number: chances[number])):
        largest = max(largest, min(1.0, (len(chances) - place) * chances[index]))
        adjusted[index] = largest
    return adjusted


def significant(p: float, drop: float) -> bool:
    """Return whether a loss is more than the margin and not by chance."""
    return p < ALPHA and drop > MARGIN + EPSILON


def large(test: CompositeTest) -> bool:
    """Return whether a loss is larger than what so many units usually show, and still no test shows it."""
    fell = test.before - test.after
    return fell > max(MARGIN, test.visible_if_alike) + EPSILON and not significant(test.adjusted, test.drop)


def supported(test: CompositeTest) -> bool:
    """Return whether there is evidence for a tolerance that is exceeded; where none is possible, none is asked for."""
    return test.fewest_losses is None or test.adjusted < ALPHA
