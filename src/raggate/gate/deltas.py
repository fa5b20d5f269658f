"""The cases of a run beside those of the baseline, passing by once: what moved, and the rows that compare them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from math import exp, isnan, log, nan
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from raggate.gate.statistics.intervals import mean_interval, tango
from raggate.gate.statistics.paired import unit_changes
from raggate.models.baseline import Baseline
from raggate.models.comparison import Delta, Interval, Uncompared, difference
from raggate.models.judging import highest
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction, Key, MetricValue, Scorecard, oriented
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import SliceMeans

N = TypeVar("N", int, float)

Pair = tuple[CaseScore, CaseScore]
Values: TypeAlias = "array[float]"
"""A number for every case; not a number where it has no value."""

Places = Sequence[int]
"""Places of cases among all of the mode, ascending."""

_ALONE = -1

_SCALES = {name: highest(metric.judged) for name, metric in METRICS.items() if metric.judged}
"""By how much a value of a metric can change, where that is not 1."""


CHANCE = 0.01
"""What chance explains with at least this probability is told, and decides nothing."""
Slices = Mapping[str, Mapping[str, MetricValue]]
Row = tuple[str, str, str, MetricValue]
"""Mode, slice, metric, and what the baseline has of it."""


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
        """Return those of some cases that have a value on both sides."""
        if self.whole:
            return places
        return array("I", (at for at in places if not isnan(self.before[at] + self.after[at])))

    def had(self, places: Places) -> int:
        """Return how many of some cases have a value before."""
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
        """Hold a metric's values of the same cases against each other; a mean over other cases would be no change."""
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
        """Return the 95% interval of the mean change; None where nothing can be said of its spread.

        Args:
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
        """Return whether two cases of a slice are of one group."""
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
    """Return those of some cases that are among others, of which both are ascending."""
    if len(places) == of or len(moved) == 0:
        return moved
    return array("I", (at for at in moved if (place := bisect_left(places, at)) < len(places) and places[place] == at))


def _with(places: range | array[int], place: int) -> range | array[int]:
    """Return places and one more after them; those of all cases, as most slices have, take no memory."""
    if isinstance(places, range):
        if place == len(places):
            return range(place + 1)
        places = array("I", places)
    places.append(place)
    return places


def _at(values: array[N], places: Places) -> array[N]:
    return values if len(places) == len(values) else array(values.typecode, map(values.__getitem__, places))


def _repeated(groups: Sequence[int | None]) -> bool:
    """Return whether two cases are of one group."""
    named = [group for group in groups if group is not None]
    return len(set(named)) < len(named)


def _oriented(direction: Direction, gain: Interval | None) -> Interval | None:
    return gain if gain is None or direction == "higher" else (-gain[1], -gain[0])


def mean_of(known: Sequence[float], unscored: int, like: MetricValue) -> MetricValue:
    """Return a mean as that of another of its metric is given; None where there is no value."""
    mean = sum(known) / len(known) if len(known) > 0 else None
    return MetricValue(value=mean, n=len(known), unscored=unscored, direction=like.direction)


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
    """Return the worst mean that the baseline has of a slice the case is in; None where it has none at all."""
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
    """Return whether chance may be why a group falls short: by one question at most, or by as much as luck goes.

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
    """Return the divergence of Kullback and Leibler between two coins; `expected` is neither 0 nor 1."""
    sides = ((value, expected), (1 - value, 1 - expected))
    return sum(share * log(share / usual) for share, usual in sides if share > 0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


class Sides:
    """What is gathered of both.

    Args:
        scorecard: the run's.
        baseline: what it is held against.
        waived: mode and case id of the cases that are left out of the means on both sides.

    Attributes:
        same: the cases that are the same on both sides, each with its past.
        refiled: names of such cases that stand in other slices.
        released: names of such cases that are no longer must-pass.
    """

    def __init__(self, scorecard: Scorecard, baseline: Baseline, *, waived: AbstractSet[Key] = frozenset()) -> None:
        self.same: list[tuple[CaseScore, CaseScore]] = []
        self.refiled: set[str] = set()
        self.released: set[str] = set()
        self._scorecard, self._baseline, self._waived = scorecard, baseline, waived
        self._rows = [*all_rows(scorecard, baseline)]
        self._metrics = [*dict.fromkeys(metric for _, _, metric, _ in self._rows)]
        self._paired = {mode: PairedCases() for mode in dict.fromkeys(row[0] for row in self._rows)}
        self._others: dict[tuple[str, str], list[tuple[CaseScore | None, CaseScore]]] = {}
        self._whole = SliceMeans(_directions(self._rows))
        self._compared: dict[str, int] = {}
        self._names: set[str] = set()

    @property
    def compared(self) -> int:
        """How many questions are the same on both sides."""
        return len(self._names) or sum(self._compared.values())

    def add_all(self, before: Mapping[Key, CaseScore]) -> None:
        """Go through the cases; `before` are those of the baseline."""
        several = len(self._paired) > 1
        for new in self._scorecard.cases:
            key = new.mode, new.case_id
            old = before.get(key)
            same = old is not None and old.hash == new.hash
            if old is not None and same:
                self._compared[new.mode] = self._compared.get(new.mode, 0) + 1
                if several:
                    self._names.add(new.case_id)
                self._note(old, new)
            if key in self._waived:
                continue
            # of the slice of all cases alone the means are needed
            self._whole.add(new, (OVERALL,))
            if old is not None and same:
                self._paired[new.mode].add(old, new) if new.mode in self._paired else None
            else:
                for name in new.slices:
                    self._others.setdefault((new.mode, name), []).append((old, new))

    def _note(self, old: CaseScore, new: CaseScore) -> None:
        self.same.append((old, new))
        if old.slices != new.slices and set(old.slices) != set(new.slices):
            self.refiled.add(new.case_id)
        if old.must_pass and not new.must_pass:
            self.released.add(new.case_id)

    def deltas(self, min_slice: int) -> Iterator[Delta]:
        """Return the rows of the comparison.

        Args:
            min_slice: values from which a slice of the baseline has a mean that an added case can be held to.
        """
        rows: dict[int, Delta] = {}
        # metric by metric, as one is held in memory at a time
        places = {metric: place for place, metric in enumerate(self._metrics)}
        order = sorted(range(len(self._rows)), key=lambda at: (self._rows[at][0], places[self._rows[at][2]], at))
        means = self._whole.means()
        for at in order:
            mode, name, metric, stored = self._rows[at]
            whole = None
            if name == OVERALL:
                mean = means.get(mode, {}).get(OVERALL, {}).get(metric) or self._without_value(mode, stored)
                whole = replace(mean, direction=stored.direction)
            rows[at] = self._delta(self._rows[at], whole, min_slice)
        return (rows[at] for at in range(len(rows)))

    def _without_value(self, mode: str, like: MetricValue) -> MetricValue:
        return replace(like.without_cases(), unscored=self._whole.counts().get(mode, {}).get(OVERALL, 0))

    def _delta(self, row: Row, whole: MetricValue | None, min_slice: int) -> Delta:
        mode, name, metric, stored = row
        past = self._baseline.scorecard.slices
        delta = self._paired[mode].row((mode, name, metric), stored)
        changes: dict[str, Any] = {}
        if name not in self._scorecard.slices.get(mode, {}):
            # a slice or mode that is gone leaves no pair: the stored mean then shows what vanished
            changes["baseline"] = stored
        if whole is not None:
            changes |= _whole_run(delta, whole, past=mode in past)
        if left := self._others.get((mode, name)):
            stand, fell = uncompared(delta, left, past.get(mode, {}), min_slice)
            changes |= {"uncompared": stand, "fell": tuple(sorted({*delta.fell, *fell}))}
        return replace(delta, **changes) if changes else delta


def _whole_run(row: Delta, whole: MetricValue, *, past: bool) -> dict[str, MetricValue]:
    """Return what a row shows of the run itself, beside the cases that are compared.

    Args:
        row: the metric over the cases that are compared.
        whole: the mean of all cases of the mode but those waived.
        past: whether the baseline has the mode; nothing of one without a past can be compared, and all of it is shown.
    """
    if not past:
        return {"current": whole}
    return {} if whole.n == row.current.n else {"full_run": whole}


def _directions(rows: Iterable[Row]) -> dict[str, Direction]:
    return {metric: stored.direction for _, _, metric, stored in rows}


def all_rows(scorecard: Scorecard, baseline: Baseline) -> Iterator[Row]:
    """Yield every mode, slice and metric of the baseline, and those of the run that it does not have."""
    for mode, slices in baseline.scorecard.slices.items():
        for name, metrics in slices.items():
            for metric, stored in metrics.items():
                yield mode, name, metric, stored
    for mode, slices in scorecard.slices.items():
        for name, metrics in slices.items():
            known = baseline.scorecard.slices.get(mode, {}).get(name, {})
            for metric, current in metrics.items():
                if metric not in known:
                    yield mode, name, metric, current.without_cases()
