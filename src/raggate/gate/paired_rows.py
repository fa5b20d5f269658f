"""Cases of one mode that are the same on both sides -> the rows of their comparison, metric by metric. Pure.

There are as many rows as metrics times slices, so a metric is looked up once in every case and not once for each slice.
"""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from raggate.gate.statistics.intervals import t_interval, tango
from raggate.gate.statistics.paired import unit_changes
from raggate.models.comparison import Delta, Interval, difference
from raggate.models.scorecard import EPSILON, CaseScore, Direction, MetricValue, improvement

T = TypeVar("T")

Pair = tuple[CaseScore, CaseScore]
Values = Sequence[float | None]
Places = Sequence[int]
"""Places of cases among all of the mode, ascending."""


@dataclass(frozen=True, slots=True)
class _Slice:
    places: Places
    members: AbstractSet[int]
    grouped: bool


@dataclass(frozen=True, slots=True)
class _Column:
    """One metric of every case, in their order, and where it has values, fell, rose, and is neither 0 nor 1."""

    before: Values
    after: Values
    changes: Sequence[float]
    had: AbstractSet[int]
    both: AbstractSet[int]
    fell: Places
    rose: Places
    graded: AbstractSet[int]


class PairedCases:
    """The cases of one mode that are the same on both sides, each with its past."""

    def __init__(self, pairs: Sequence[Pair], metrics: Sequence[str]) -> None:
        self._pairs = pairs
        # case by case, which is how they lie in memory
        self._before = _by_metric([old for old, _ in pairs], metrics)
        self._after = _by_metric([new for _, new in pairs], metrics)
        self._groups = [new.group for _, new in pairs]
        self._columns: dict[tuple[str, Direction], _Column] = {}
        places: dict[str, list[int]] = {}
        for place, (_, new) in enumerate(pairs):
            for name in new.slices:
                places.setdefault(name, []).append(place)
        self._slices = {name: self._slice(members) for name, members in places.items()}

    def _slice(self, places: Places) -> _Slice:
        return _Slice(places, frozenset(places), _repeated(_at(self._groups, places)))

    def row(self, place: tuple[str, str, str], like: MetricValue) -> Delta:
        """Hold a metric's values of the same cases against each other; a mean over other cases would be no change.

        Args:
            place: mode, slice and metric.
            like: a value of the metric, which tells its direction.
        """
        mode, name, metric = place
        column = self._column_of(metric, like.direction)
        part = self._slices.get(name) or self._slice(())
        both = part.places
        if len(column.both) < len(self._pairs):
            both = [at for at in part.places if at in column.both]
        had = sum(map(column.had.__contains__, part.places))
        fell, rose = ([at for at in places if at in part.members] for places in (column.fell, column.rose))
        binary = bool(part.places) and column.graded.isdisjoint(part.members)
        before = _mean(_at(column.before, both or part.places), len(part.places), like)
        after = before
        if column.after is not column.before:
            after = _mean(_at(column.after, both if had else part.places), len(part.places), like)
        return Delta(
            mode=mode,
            slice=name,
            metric=metric,
            baseline=before,
            current=after,
            delta=difference(before, after),
            regressed=len(fell),
            improved=len(rose),
            binary=binary,
            interval=_oriented(like.direction, self._gain(column, part, both, (len(fell), len(rose)), binary=binary)),
            unpaired=had - len(both),
            fell=tuple(self._pairs[at][1].case_id for at in fell),
        )

    def _gain(
        self, column: _Column, part: _Slice, both: Places, counts: tuple[int, int], *, binary: bool
    ) -> Interval | None:
        """Give the 95% interval of the mean change; None where nothing can be said of its spread.

        Args:
            column: the metric.
            part: the slice.
            both: its cases with two values.
            counts: how many of them got worse, and better.
            binary: whether each scores 0 or 1, so that counts tell all, but where cases of one group move together.
        """
        groups = _at(self._groups, both) if part.grouped else None
        if binary and both and not (groups and _repeated(groups)):
            return _tango(len(both), *counts)
        if not any(counts):
            return None
        return t_interval(unit_changes(_at(column.changes, both), groups))

    def _column_of(self, metric: str, direction: Direction) -> _Column:
        known = self._columns.get((metric, direction))
        if known is None:
            sides = (self._before.get(metric, ()), self._after.get(metric, ()))
            known = self._columns[metric, direction] = _column(*sides, direction)
        return known


def _by_metric(cases: Sequence[CaseScore], metrics: Sequence[str]) -> dict[str, Values]:
    rows = [[*map(case.values.get, metrics)] for case in cases]
    return dict(zip(metrics, zip(*rows, strict=True), strict=True)) if rows else {}


def _column(before: Values, after: Values, direction: Direction) -> _Column:
    after = before if after == before else after
    sides = list(enumerate(zip(before, after, strict=True)))
    changes = [
        0.0 if was is None or now is None else improvement(direction, was, now) if was != now else 0.0
        for _, (was, now) in sides
    ]
    return _Column(
        before=before,
        after=after,
        changes=changes,
        had=frozenset(at for at, (was, _) in sides if was is not None),
        both=frozenset(at for at, (was, now) in sides if was is not None and now is not None),
        fell=[at for at, change in enumerate(changes) if change < -EPSILON],
        rose=[at for at, change in enumerate(changes) if change > EPSILON],
        graded=frozenset(at for at, (was, now) in sides if was not in _COUNTED or now not in _COUNTED),
    )


_COUNTED = frozenset((0, 1, None))

# most rows of a comparison have the same few counts
_tango = lru_cache(maxsize=1024)(tango)


def _at(values: Sequence[T], places: Places) -> Sequence[T]:
    return values if len(places) == len(values) else [values[at] for at in places]


def _repeated(groups: Sequence[str | None]) -> bool:
    """Say whether two cases are of one group."""
    named = [group for group in groups if group]
    return len(set(named)) < len(named)


def _oriented(direction: Direction, gain: Interval | None) -> Interval | None:
    return gain if gain is None or direction == "higher" else (-gain[1], -gain[0])


def _mean(values: Values, cases: int, like: MetricValue) -> MetricValue:
    """Average some values of a slice of so many cases."""
    known = [value for value in values if value is not None]
    return mean_of(known, cases - len(known), like)


def mean_of(known: Sequence[float], unscored: int, like: MetricValue) -> MetricValue:
    """Give a mean as that of another of its metric is given; None where there is no value."""
    mean = sum(known) / len(known) if known else None
    return MetricValue(value=mean, n=len(known), unscored=unscored, direction=like.direction)
