"""The last versions of the baseline as a line of bars, where they were measured over the questions of today."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.models.verdict import Review
from raggate.reports.plot import MAX_VALUE

LEAST = 3
"""Versions from which on there is a course to see."""

_BARS = "▁▂▃▄▅▆▇█"
_LEAST_SPAN = 0.08
"""What the bars span at least: a step up or down is a point or more of a share, and noise looks flat."""


def of_baselines(review: Review, mode: str, metric: str) -> str:
    """Give a bar for each of the last versions, the newest to the right; empty with fewer than three.

    They go back to the first version that asked other questions than this run, or that has no such number: what lies
    before is not to be compared.
    """
    values = list(_values(review, mode, metric))[::-1]
    return bars(values) if len(values) >= LEAST else ""


def _values(review: Review, mode: str, metric: str) -> Iterator[float]:
    for point in reversed(review.context.trend):
        if point.kind != "baseline":
            continue
        value = point.values.get(mode, {}).get(metric)
        # a value that is no number is not at most anything either
        if point.questions != review.run.golden.hash or value is None or not abs(value) <= MAX_VALUE:
            return
        yield value


def bars(values: Sequence[float]) -> str:
    """Draw numbers between the lowest and the highest of them; at least one of either sign up to 1e12."""
    low, high = min(values), max(values)
    span = max(high - low, _LEAST_SPAN)
    bottom = (low + high - span) / 2
    # what is added keeps a value between two bars from falling to one or the other by an error of the last bit
    steps = (int((value - bottom) / span * len(_BARS) + 1e-9) for value in values)
    return "".join(_BARS[min(max(step, 0), len(_BARS) - 1)] for step in steps)
