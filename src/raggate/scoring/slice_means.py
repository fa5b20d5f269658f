"""Scores of single questions -> the mean of every metric in every slice of every mode, in one pass. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raggate.models.metric_values import Values, columns
from raggate.models.scorecard import CaseScore, Direction, MetricValue
from raggate.scoring.metrics import METRICS

_TOGETHER = 5_000
"""Questions whose values are summed at once; a suite of no more is summed as a whole."""


class SliceMeans:
    """The means of questions that pass by once.

    Args:
        directions: the metrics, with the direction that is better.
    """

    def __init__(self, directions: Mapping[str, Direction]) -> None:
        self._directions = directions
        # without their lists, which take ten times as much
        self._waiting: list[tuple[str, Sequence[str], Values]] = []
        self._slices: dict[str, dict[str, Sums]] = {}

    def add(self, case: CaseScore, slices: Sequence[str] | None = None) -> None:
        """Take one more question: in its slices, or in these alone."""
        self._waiting.append((case.mode, case.slices if slices is None else slices, case.values))
        if len(self._waiting) >= _TOGETHER:
            self._sum()

    def _sum(self) -> None:
        members: dict[tuple[str, str], list[Values]] = {}
        for mode, slices, values in self._waiting:
            for name in slices:
                members.setdefault((mode, name), []).append(values)
            self._slices.setdefault(mode, {})
        for (mode, name), rows in members.items():
            self._slices[mode].setdefault(name, Sums()).add(rows)
        self._waiting = []

    def means(self) -> dict[str, dict[str, dict[str, MetricValue]]]:
        """Give the means so far, by mode, slice and metric: modes as they came, slices by name."""
        self._sum()
        return {
            mode: {name: slices[name].means(self._directions) for name in sorted(slices)}
            for mode, slices in self._slices.items()
        }

    def counts(self) -> dict[str, dict[str, int]]:
        """Give how many questions there are so far, by mode and slice."""
        self._sum()
        return {mode: {name: slices[name].count for name in sorted(slices)} for mode, slices in self._slices.items()}


class Sums:
    """Sums of the values of some questions. Those that come together are summed as one list, in their order.

    Attributes:
        count: how many questions they are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, rows: Sequence[Values]) -> None:
        """Take the values of further questions."""
        self.count += len(rows)
        for name, values in _columns(rows).items():
            total, number = self._sums.get(name, (0, 0))
            self._sums[name] = sum(values, total), number + len(values)

    def means(self, directions: Mapping[str, Direction]) -> dict[str, MetricValue]:
        """Give the mean of each of these metrics over the questions it applies to; judges' only where there are."""
        unjudged = {name for name, metric in METRICS.items() if metric.judged} - self._sums.keys()
        averaged = {}
        for name, direction in directions.items():
            if name in unjudged:
                continue
            total, n = self._sums.get(name, (0, 0))
            mean = total / n if n else None
            averaged[name] = MetricValue(value=mean, n=n, unscored=self.count - n, direction=direction)
        return averaged


def _columns(rows: Sequence[Values]) -> dict[str, list[float]]:
    """Give metric by metric the values there are; an empty list where there is none."""
    if (together := columns(rows)) is not None:
        return together
    names = dict.fromkeys(name for values in rows for name in values)
    return {name: [value for values in rows if (value := values.get(name)) is not None] for name in names}
