"""The cases of a run beside those of the baseline, passing by once: what moved, and the rows that compare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet
from typing import Any

from msgspec.structs import replace

from raggate.gate.paired_rows import PairedCases
from raggate.gate.stand_ins import uncompared
from raggate.models.baseline import Baseline
from raggate.models.comparison import Delta
from raggate.models.scorecard import OVERALL, CaseScore, Direction, Key, MetricValue, Scorecard
from raggate.scoring.slice_means import SliceMeans

Row = tuple[str, str, str, MetricValue]
"""Mode, slice, metric, and what the baseline has of it."""


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
        """Give the rows of the comparison.

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
    """Give what a row shows of the run itself, beside the cases that are compared.

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
    """Give every mode, slice and metric of the baseline, and those of the run that it does not have."""
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
