"""Cases of one mode that are the same on both sides -> the rows of their comparison, metric by metric. Pure.

There are as many rows as metrics times slices, so a metric is looked up once in every case and not once for each slice.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import TypeAlias, TypeVar

from msgspec import Struct

from raggate.gate.statistics.intervals import mean_interval, tango
from raggate.gate.statistics.paired import unit_changes
from raggate.models.comparison import Delta, Interval, difference
from raggate.models.judging_quality import highest
from raggate.models.scorecard import EPSILON, CaseScore, Direction, MetricValue, oriented
from raggate.scoring.metrics import METRICS

N = TypeVar("N", int, float)

Pair = tuple[CaseScore, CaseScore]
Values: TypeAlias = "array[float]"
"""A number for every case; not a number where it has no value."""

Places = Sequence[int]
"""Places of cases among all of the mode, ascending."""

_ALONE = -1

_SCALES = {name: highest(metric.judged) for name, metric in METRICS.items() if metric.judged}
"""By how much a value of a metric can change, where that is not 1."""


class _Column(Struct, frozen=True):
    """One metric of every case, in their order, and where it fell and rose.

    `whole` says whether every case has a value on both sides; `graded` has a 1 for each with one that is neither 0 nor
    1, and is empty where there is none.
    """

    before: Values
    after: Values
    changes: Values
    whole: bool
    fell: Places
    rose: Places
    graded: bytes

    def both(self, places: Places) -> Places:
        """Give those of some cases that have a value on both sides."""
        if self.whole:
            return places
        return array("I", (at for at in places if not isnan(self.before[at] + self.after[at])))

    def had(self, places: Places) -> int:
        """Say how many of some cases have a value before."""
        return len(places) if self.whole else sum(not isnan(self.before[at]) for at in places)

    def mean(self, side: Values, places: Places, cases: int, like: MetricValue) -> MetricValue:
        """Average what some cases, of a slice of so many, have on a side."""
        known = _at(side, places)
        if not self.whole:
            known = array("d", (value for value in known if not isnan(value)))
        return mean_of(known, cases - len(known), like)


class PairedCases:
    """The cases of one mode that are the same on both sides, each with its past.

    Args:
        pairs: the cases to begin with.
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._pairs: list[Pair] = []
        self._groups = array("i")
        self._group_numbers: dict[str, int] = {}
        self._slices: dict[str, range | array[int]] = {}
        self._grouped: dict[str, bool] = {}
        self._last: tuple[tuple[str, Direction], _Column] | None = None
        for old, new in pairs:
            self.add(old, new)

    def add(self, old: CaseScore, new: CaseScore) -> None:
        """Take one more case."""
        place = len(self._pairs)
        self._pairs.append((old, new))
        group = self._group_numbers.setdefault(new.group, len(self._group_numbers)) if new.group else _ALONE
        self._groups.append(group)
        for name in new.slices:
            self._slices[name] = _with(self._slices.get(name, range(0)), place)

    def row(self, place: tuple[str, str, str], like: MetricValue) -> Delta:
        """Hold a metric's values of the same cases against each other; a mean over other cases would be no change.

        Args:
            place: mode, slice and metric.
            like: a value of the metric, which tells its direction.
        """
        mode, name, metric = place
        column = self._column_of(metric, like.direction)
        places = self._slices.get(name, ())
        both = column.both(places)
        had = len(both) if column.after is column.before else column.had(places)
        fell, rose = (_within(places, moved, len(self._groups)) for moved in (column.fell, column.rose))
        binary = len(places) > 0 and not (column.graded and any(map(column.graded.__getitem__, places)))
        before = column.mean(column.before, both or places, len(places), like)
        after = before
        if column.after is not column.before:
            after = column.mean(column.after, both if had else places, len(places), like)
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
            interval=_oriented(like.direction, self._gain(column, place, both, (len(fell), len(rose)), binary=binary)),
            unpaired=had - len(both),
            fell=tuple(self._pairs[at][1].case_id for at in fell),
        )

    def _gain(
        self, column: _Column, place: tuple[str, str, str], both: Places, counts: tuple[int, int], *, binary: bool
    ) -> Interval | None:
        """Give the 95% interval of the mean change; None where nothing can be said of its spread.

        Args:
            column: the metric.
            place: mode, slice and metric.
            both: its cases with two values.
            counts: how many of them got worse, and better.
            binary: whether each scores 0 or 1, so that counts tell all, but where cases of one group move together.
        """
        groups = None
        _, name, metric = place
        if self._is_grouped(name):
            groups = [None if group == _ALONE else group for group in _at(self._groups, both)]
        if binary and len(both) > 0 and not (groups and _repeated(groups)):
            return tango(len(both), *counts)
        if not any(counts):
            return None
        return mean_interval(unit_changes(_at(column.changes, both), groups), _SCALES.get(metric, 1.0))

    def _is_grouped(self, name: str) -> bool:
        """Say whether two cases of a slice are of one group."""
        if name not in self._grouped:
            groups = _at(self._groups, self._slices.get(name, ())) if self._group_numbers else ()
            self._grouped[name] = _repeated([group for group in groups if group != _ALONE])
        return self._grouped[name]

    def _column_of(self, metric: str, direction: Direction) -> _Column:
        # one at a time: whoever asks for the rows of a metric one after the other has it made once
        if self._last is None or self._last[0] != (metric, direction):
            before, after = (array("d", (_number(pair[side], metric) for pair in self._pairs)) for side in (0, 1))
            self._last = ((metric, direction), _column(before, after, direction))
        return self._last[1]


def _number(case: CaseScore, metric: str) -> float:
    value = case.values.get(metric)
    return nan if value is None else value


def _column(before: array[float], after: array[float], direction: Direction) -> _Column:
    same = after.tobytes() == before.tobytes()
    after = before if same else after
    changes = before
    if not same:
        # not a number equals nothing, itself neither
        sides = zip(before, after, strict=True)
        moves = (now - was if was == was and now == now and was != now else 0.0 for was, now in sides)
        changes = array("d", (oriented(direction, move) for move in moves))
    return _Column(
        before=before,
        after=after,
        changes=changes,
        whole=not any(map(isnan, before)) and (same or not any(map(isnan, after))),
        fell=() if same else array("I", (at for at, change in enumerate(changes) if change < -EPSILON)),
        rose=() if same else array("I", (at for at, change in enumerate(changes) if change > EPSILON)),
        graded=b"" if _all_counted(before) and (same or _all_counted(after)) else bytes(map(_graded, before, after)),
    )


def _all_counted(values: array[float]) -> bool:
    return values.count(0.0) + values.count(1.0) + sum(map(isnan, values)) == len(values)


def _graded(was: float, now: float) -> bool:
    return not all(value in (0.0, 1.0) or isnan(value) for value in (was, now))


def _within(places: Places, moved: Places, of: int) -> Places:
    """Give those of some cases that are among others, of which both are ascending."""
    if len(places) == of or len(moved) == 0:
        return moved
    return array("I", (at for at in moved if (place := bisect_left(places, at)) < len(places) and places[place] == at))


def _with(places: range | array[int], place: int) -> range | array[int]:
    """Give places and one more after them; those of all cases, as most slices have, take no memory."""
    if isinstance(places, range):
        if place == len(places):
            return range(place + 1)
        places = array("I", places)
    places.append(place)
    return places


def _at(values: array[N], places: Places) -> array[N]:
    return values if len(places) == len(values) else array(values.typecode, map(values.__getitem__, places))


def _repeated(groups: Sequence[int | None]) -> bool:
    """Say whether two cases are of one group."""
    named = [group for group in groups if group is not None]
    return len(set(named)) < len(named)


def _oriented(direction: Direction, gain: Interval | None) -> Interval | None:
    return gain if gain is None or direction == "higher" else (-gain[1], -gain[0])


def mean_of(known: Sequence[float], unscored: int, like: MetricValue) -> MetricValue:
    """Give a mean as that of another of its metric is given; None where there is no value."""
    mean = sum(known) / len(known) if len(known) > 0 else None
    return MetricValue(value=mean, n=len(known), unscored=unscored, direction=like.direction)
