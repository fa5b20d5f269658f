"""The cases of a run beside those of the baseline: what moved, and the rows that compare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import repeat
from math import exp, log
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.gate.statistics.paired import mean_interval, tango, unit_changes
from raggate.models.baseline import Baseline
from raggate.models.comparison import Delta, Interval, Uncompared, difference
from raggate.models.judging import highest
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction, Key, MetricValue, Scorecard, oriented
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import SliceMeans, columns_of

Pair = tuple[CaseScore, CaseScore]
"""A case before and now."""
Slices = Mapping[str, Mapping[str, MetricValue]]
Row = tuple[str, str, str, MetricValue]
"""Mode, slice, metric, and what the baseline has of it."""

_SCALES = {name: highest(metric.judged) for name, metric in METRICS.items() if metric.judged}
"""By how much a value of a metric can change, if that is not 1."""

CHANCE = 0.01
"""A loss that chance explains with at least this probability is reported, but decides nothing."""


class _Column:
    """One metric of every case of a mode, in their order, and where it fell and rose.

    `others` are the places of the cases in which any value differs.
    """

    def __init__(
        self, before: Sequence[float | None], after: Sequence[float | None], others: Sequence[int], direction: Direction
    ) -> None:
        self.before, self.after = before, after
        self.same = before == after
        self.changes = {
            at: oriented(direction, is_now - was)
            for at in others
            if (was := before[at]) is not None and (is_now := after[at]) is not None and was != is_now
        }
        self.fell = [at for at, change in self.changes.items() if change < -EPSILON]
        self.rose = [at for at, change in self.changes.items() if change > EPSILON]
        self.whole = None not in self.before and (self.same or None not in self.after)
        values = (self.before,) if self.same else (self.before, self.after)
        self.graded = [at for side in values for at, value in enumerate(side) if value not in {None, 0.0, 1.0}]


class PairedCases:
    """The cases of one mode that are the same on both sides, each with its past."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        self._others = [at for at, (old, new) in enumerate(pairs) if old.values != new.values]
        self._before = columns_of([old.values for old, _ in pairs])
        self._after = columns_of([new.values for _, new in pairs])
        self._columns: dict[tuple[str, Direction], _Column] = {}
        self._slices: dict[str, list[int]] = {}
        for at, (_, new) in enumerate(pairs):
            for name in new.slices:
                self._slices.setdefault(name, []).append(at)
        self._members = {name: frozenset(places) for name, places in self._slices.items()}
        self._grouped = {
            name: _repeated([pairs[at][1].group or None for at in places]) for name, places in self._slices.items()
        }

    def row(self, place: tuple[str, str, str], like: MetricValue) -> Delta:
        """Compare a metric's values of the same cases; a mean over other cases would be no change."""
        mode, name, metric = place
        column = self._columns.get((metric, like.direction))
        if column is None:
            was, is_now = (columns.get(metric, (None,) * len(self._pairs)) for columns in (self._before, self._after))
            column = self._columns[metric, like.direction] = _Column(was, is_now, self._others, like.direction)
        places, members = self._slices.get(name, []), self._members.get(name, frozenset())
        known = places if column.whole else [at for at in places if column.before[at] is not None]
        both = known if column.same or column.whole else [at for at in known if column.after[at] is not None]
        fell, rose = ([at for at in moved if at in members] for moved in (column.fell, column.rose))
        binary = bool(places) and members.isdisjoint(column.graded)
        before = _mean(column.before, both or known, len(places), like)
        # without a pair that the baseline has, the current value is of all that have one
        now = both if known or column.same else [at for at in places if column.after[at] is not None]
        after = before if column.same else _mean(column.after, now, len(places), like)
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
            interval=_in_direction(
                like.direction, self._gain(column, place, both, (len(fell), len(rose)), binary=binary)
            ),
            unpaired=len(known) - len(both),
            fell=tuple(self._pairs[at][1].case_id for at in fell),
        )

    def _gain(
        self, column: _Column, place: tuple[str, str, str], both: Sequence[int], moved: tuple[int, int], *, binary: bool
    ) -> Interval | None:
        """Return the 95% interval of the mean change; None if nothing can be said of its spread."""
        _, name, metric = place
        groups = [self._pairs[at][1].group or None for at in both] if self._grouped.get(name) and both else None
        # counts tell all of values that are 0 or 1, but where cases of one group move together
        if binary and both and not (groups and _repeated(groups)):
            return tango(len(both), *moved)
        if not any(moved):
            return None
        changes = [*map(column.changes.get, both, repeat(0.0))]
        return mean_interval(unit_changes(changes, groups), _SCALES.get(metric, 1.0))


def _repeated(groups: Sequence[str | None]) -> bool:
    named = [group for group in groups if group is not None]
    return len(set(named)) < len(named)


def _in_direction(direction: Direction, gain: Interval | None) -> Interval | None:
    return gain if gain is None or direction == "higher" else (-gain[1], -gain[0])


def _mean(side: Sequence[float | None], places: Sequence[int], cases: int, like: MetricValue) -> MetricValue:
    values = side if len(places) == len(side) else map(side.__getitem__, places)
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else None
    return MetricValue(value=mean, n=len(known), unscored=cases - len(known), direction=like.direction)


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
    """Compare unpaired cases with their stand-ins; also name those that are worse."""
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
        value=oriented(direction, _average([case.value for case in held])),
        expected=oriented(direction, _average([case.expected for case in held])),
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
    # values are negative here if lower is better
    shift = 1.0 if any(case.value < 0 or case.expected < 0 for case in group) else 0.0
    value, expected = (
        min(max(mean + shift, 0.0), 1.0)
        for mean in (
            _average([case.value for case in group]) / most,
            _average([case.expected for case in group]) / most,
        )
    )
    expected = (expected * size + 1) / (size + 2)
    return value >= expected or exp(-len(group) * _divergence(value, expected)) > CHANCE


def _divergence(value: float, expected: float) -> float:
    """Return the divergence of Kullback and Leibler between two coins; `expected` is neither 0 nor 1."""
    sides = ((value, expected), (1 - value, 1 - expected))
    return sum(share * log(share / usual) for share, usual in sides if share > 0)


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


class Sides:
    """The cases of a run and of the baseline it is held against; `before` are those of the baseline."""

    def __init__(
        self,
        scorecard: Scorecard,
        baseline: Baseline,
        before: Mapping[Key, CaseScore],
        waived: AbstractSet[Key] = frozenset(),
    ) -> None:
        self.same: list[Pair] = []
        self._scorecard, self._baseline = scorecard, baseline
        self._rows = [*all_rows(scorecard, baseline)]
        self._others: dict[tuple[str, str], list[tuple[CaseScore | None, CaseScore]]] = {}
        self._whole = SliceMeans({metric: stored.direction for _, _, metric, stored in self._rows})
        paired: dict[str, list[Pair]] = {row[0]: [] for row in self._rows}
        for new in scorecard.cases:
            key = new.mode, new.case_id
            old = before.get(key)
            same = old is not None and old.hash == new.hash
            if old is not None and same:
                self.same.append((old, new))
            if key in waived:
                continue
            # of the slice of all cases alone the means are needed
            self._whole.add(new, (OVERALL,))
            if old is not None and same:
                paired.setdefault(new.mode, []).append((old, new))
            else:
                for name in new.slices:
                    self._others.setdefault((new.mode, name), []).append((old, new))
        self._paired = {mode: PairedCases(pairs) for mode, pairs in paired.items()}

    @property
    def compared(self) -> int:
        """How many questions are the same on both sides."""
        return len({new.case_id for _, new in self.same})

    @property
    def refiled(self) -> set[str]:
        """The questions that are in other slices now."""
        return {new.case_id for old, new in self.same if set(old.slices) != set(new.slices)}

    @property
    def released(self) -> set[str]:
        """The questions that need not pass any more."""
        return {new.case_id for old, new in self.same if old.must_pass and not new.must_pass}

    def deltas(self, min_slice: int) -> Iterator[Delta]:
        """Yield the rows of the comparison."""
        means, counts = self._whole.means(), self._whole.counts()
        for mode, name, metric, stored in self._rows:
            delta = self._paired[mode].row((mode, name, metric), stored)
            changes: dict[str, Any] = {}
            if name not in self._scorecard.slices.get(mode, {}):
                # a slice or mode that is gone leaves no pair: the stored mean then shows what vanished
                changes["baseline"] = stored
            if name == OVERALL:
                unscored = counts.get(mode, {}).get(OVERALL, 0)
                nothing = replace(stored.without_cases(), unscored=unscored)
                whole = replace(means.get(mode, {}).get(OVERALL, {}).get(metric) or nothing, direction=stored.direction)
                if mode not in self._baseline.scorecard.slices:
                    # nothing of a mode without a past can be compared, and all of it is shown
                    changes["current"] = whole
                elif whole.n != delta.current.n:
                    changes["full_run"] = whole
            if left := self._others.get((mode, name)):
                past = self._baseline.scorecard.slices.get(mode, {})
                stand, fell = uncompared(delta, left, past, min_slice)
                changes |= {"uncompared": stand, "fell": tuple(sorted({*delta.fell, *fell}))}
            yield replace(delta, **changes) if changes else delta


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
