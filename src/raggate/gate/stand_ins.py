"""Cases that a baseline does not have as they are asked now -> what stands in for them, and how far they fall. Pure.

Whoever relabels a question takes it out of the comparison of single cases, but not out of the gate: a relabelled case
is held to its own value in the baseline. An added one is held to the mean of the slice that the baseline did worst in,
of those it is in; it was chosen by somebody, so how hard it is is partly chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

from msgspec import Struct

from raggate.models.comparison import Delta, Uncompared
from raggate.models.judging_quality import highest
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction, MetricValue, oriented

CHANCE = 0.01
"""What chance explains with at least this probability is told, and decides nothing."""

Slices = Mapping[str, Mapping[str, MetricValue]]


class Held(Struct, frozen=True, kw_only=True):
    """One value of a case beside its stand-in, both of them higher for better. The baseline may know the case."""

    case_id: str
    value: float
    expected: float
    known: bool

    @property
    def short(self) -> float:
        """By how much the case is worse than its stand-in."""
        return self.expected - self.value


def uncompared(
    row: Delta, others: Sequence[tuple[CaseScore | None, CaseScore]], slices: Slices, min_slice: int
) -> tuple[Uncompared | None, frozenset[str]]:
    """Hold the cases that cannot be compared to their stand-ins; also name those that are worse.

    Args:
        row: the metric over the cases that are compared.
        others: all other cases of the mode and slice, each with what the baseline has under its name.
        slices: the baseline's means in this mode.
        min_slice: values from which a slice other than that of all cases has a mean to hold something to.
    """
    direction = row.current.direction
    held, retired = [], []
    for old, new in others:
        was = None if old is None else old.values.get(row.metric)
        now = new.values.get(row.metric)
        if now is None:
            if was is not None:
                retired.append(new.case_id)
            continue
        expected = was if was is not None else _usual(new, row.metric, slices, min_slice, direction)
        if expected is not None:
            value, usual = oriented(direction, now), oriented(direction, expected)
            held.append(Held(case_id=new.case_id, value=value, expected=usual, known=old is not None))
    if not (held or retired):
        return None, frozenset()
    size = slices.get(row.slice, {}).get(row.metric, row.baseline).n
    # measured over the known ones alone too, so that nothing that is added can water a loss down
    groups = [group for group in ([case for case in held if case.known], held) if group]
    most = highest(row.metric)
    drops = [(_drop(row, group), _explained(group, size, most)) for group in groups]
    standing = Uncompared(
        n=len(held),
        relabelled=sum(case.known for case in held),
        value=oriented(direction, _mean([case.value for case in held])),
        expected=oriented(direction, _mean([case.expected for case in held])),
        drop=max((drop for drop, _ in drops), default=0.0),
        proven=max((drop for drop, explained in drops if not explained), default=0.0),
        retired=tuple(sorted(retired)),
    )
    return standing, frozenset(case.case_id for case in held if case.short > EPSILON)


def _usual(case: CaseScore, metric: str, slices: Slices, min_slice: int, direction: Direction) -> float | None:
    """Give the worst mean that the baseline has of a slice the case is in; None where it has none at all."""
    known = [(name, slices.get(name, {}).get(metric)) for name in case.slices]
    means = [
        mean.value
        for name, mean in known
        if mean is not None and mean.value is not None and (name == OVERALL or mean.n >= min_slice)
    ]
    return min(means, key=lambda value: oriented(direction, value)) if means else None


def _drop(row: Delta, group: Sequence[Held]) -> float:
    """Say by how much the metric is worse over the compared cases and a group together; 0 where it is not."""
    compared = row.current.n if row.delta is not None else 0
    lost = -row.gain * compared + sum(case.short for case in group)
    return max(0.0, lost / (compared + len(group)))


def _explained(group: Sequence[Held], size: int, most: float) -> bool:
    """Say whether chance may be why a group falls short: by one question at most, or by as much as luck goes.

    The bound is Hoeffding's for means of independent values from 0 to 1, which needs nothing to be known of how they
    are spread; values up to `most` are taken as shares of it. What is expected is itself only a mean of `size` values,
    so one of the best and one of the worst are added to it: a baseline without a miss does not prove that there are
    none.
    """
    if sum(case.short for case in group) <= most + EPSILON:
        return True
    # of metrics of which less is better, values are below zero here
    shift = 1.0 if any(case.value < 0 or case.expected < 0 for case in group) else 0.0
    value, expected = (
        min(max(mean + shift, 0.0), 1.0)
        for mean in (_mean([case.value for case in group]) / most, _mean([case.expected for case in group]) / most)
    )
    expected = (expected * size + 1) / (size + 2)
    return value >= expected or exp(-len(group) * _divergence(value, expected)) > CHANCE


def _divergence(value: float, expected: float) -> float:
    """Give the divergence of Kullback and Leibler between two coins; `expected` is neither 0 nor 1."""
    sides = ((value, expected), (1 - value, 1 - expected))
    return sum(share * log(share / usual) for share, usual in sides if share > 0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
