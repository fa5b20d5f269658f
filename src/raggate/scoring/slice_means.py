"""Scores of single questions -> the mean of every metric in every slice of every mode. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raggate.models.scorecard import CaseScore, Direction, MetricValue, Values
from raggate.scoring.metrics import METRICS


class SliceMeans:
    """The means of questions in each slice of each mode.

    Args:
        directions: the metrics, with the direction that is better.
    """

    def __init__(self, directions: Mapping[str, Direction]) -> None:
        self._directions = directions
        self._rows: dict[str, dict[str, list[Values]]] = {}

    def add(self, case: CaseScore, slices: Sequence[str] | None = None) -> None:
        """Take one more question: in its slices, or in these alone."""
        rows = self._rows.setdefault(case.mode, {})
        for name in case.slices if slices is None else slices:
            rows.setdefault(name, []).append(case.values)

    def means(self) -> dict[str, dict[str, dict[str, MetricValue]]]:
        """Return the means so far, by mode, slice and metric: modes as they came, slices by name."""
        return {
            mode: {name: means(slices[name], self._directions) for name in sorted(slices)}
            for mode, slices in self._rows.items()
        }

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many questions there are so far, by mode and slice."""
        return {mode: {name: len(slices[name]) for name in sorted(slices)} for mode, slices in self._rows.items()}


def means(rows: Sequence[Values], directions: Mapping[str, Direction]) -> dict[str, MetricValue]:
    """Return the mean of each of these metrics over the questions it applies to; judges' only where there are any."""
    averaged = {}
    for name, direction in directions.items():
        if name in METRICS and METRICS[name].judged and not any(name in row for row in rows):
            continue
        values = [value for row in rows if (value := row.get(name)) is not None]
        mean = sum(values) / len(values) if values else None
        averaged[name] = MetricValue(value=mean, n=len(values), unscored=len(rows) - len(values), direction=direction)
    return averaged
