"""The rows of a review's metrics as a page shows them, and each change with its interval as a small plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from raggate.models.comparison import Delta
from raggate.models.scorecard import EPSILON, oriented
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.parts import formatting
from raggate.scoring import figures
from raggate.text.numbers import rounded

Tone = Literal["bad", "warn", "good", "soft", ""]
"""What a value comes to, as the class of an element; words or signs beside it say the same."""

WIDTH = 150.0
"""Width of the plot of a change; no change stands in its middle."""


class ChangePlot(Struct, frozen=True, kw_only=True):
    """Where on a scale from worse (0) to better (`WIDTH`) a change lies, its interval, and how far it may fall."""

    change: float
    interval: tuple[float, float] | None
    allowed: float | None


class MetricRow(Struct, frozen=True, kw_only=True):
    """A metric over all questions of a mode, in words and as a plot."""

    mode: str
    metric: str
    lower: bool
    change: str
    arrow: str
    baseline: str
    now: str
    whole: str
    interval: str
    allowed: str
    status: str
    cases: str
    tone: Tone
    plot: ChangePlot | None


def deciding(review: Review) -> list[MetricRow]:
    """Give the metrics that decide, what is wrong first; none where what was compared says nothing of the change."""
    return [] if formatting.undecided(review) else _rows(formatting.main_rows(review.verdict.rows))


def others(review: Review) -> list[MetricRow]:
    """Give those that do not decide and moved."""
    return [] if formatting.undecided(review) else _rows(formatting.other_rows(review.verdict.rows))


def measured(review: Review) -> list[tuple[str, str, str, int]]:
    """Give mode, metric, value and number of questions where nothing is compared."""
    if review.verdict.rows:
        return []
    return [
        (mode, metric, figures.measured(metric, value), value.n)
        for mode, metric, value in formatting.measured(review.scorecard)
    ]


def _rows(rows: Sequence[GatedMetric]) -> list[MetricRow]:
    reach = max((end for row in rows for end in _ends(row)), default=0.0)
    return [_row(row, reach) for row in rows]


def _ends(row: GatedMetric) -> Iterator[float]:
    """Give how far from no change everything lies that is drawn of a row."""
    yield abs(row.delta.delta or 0.0)
    yield from (abs(end) for end in row.delta.interval or ())
    yield row.allowed or 0.0


def _row(row: GatedMetric, reach: float) -> MetricRow:
    delta = row.delta
    return MetricRow(
        mode=delta.mode,
        metric=delta.metric,
        lower=delta.current.direction == "lower",
        change=figures.change(delta),
        arrow=arrow(delta),
        baseline=figures.side(delta, delta.baseline),
        now=figures.side(delta, delta.current),
        whole=whole(delta),
        interval=figures.interval(delta),
        allowed=figures.allowed(row),
        status=formatting.status(row),
        cases=formatting.cases(delta),
        tone=tone(row),
        plot=None if delta.delta is None or reach <= EPSILON else _plot(row, reach),
    )


def whole(delta: Delta) -> str:
    """Write the run's own value over all its questions, where it is another than the one that is compared."""
    whole = formatting.other_whole(delta)
    return "" if whole is None else f"all {whole.n}: {figures.value(delta.metric, whole)}"


def _plot(row: GatedMetric, reach: float) -> ChangePlot:
    delta = row.delta

    def place(change: float) -> float:
        share = oriented(delta.current.direction, change) / reach
        return rounded(WIDTH / 2 * (1 + share * 0.96), 1)

    ends = None if delta.interval is None else sorted(map(place, delta.interval))
    limit = None if row.allowed is None else rounded(WIDTH / 2 * (1 - row.allowed / reach * 0.96), 1)
    return ChangePlot(
        change=place(delta.delta or 0.0), interval=None if ends is None else (ends[0], ends[1]), allowed=limit
    )


def arrow(delta: Delta) -> str:
    """Say by a sign whether a change is for the better or the worse, whichever way its numbers go."""
    if abs(delta.gain) <= EPSILON:
        return ""
    return "▲" if delta.gain > 0 else "▼"


def tone(row: GatedMetric) -> Tone:
    """Say what a row comes to."""
    if row.status in formatting.BAD:
        return "warn" if row.waived or row.unproven else "bad"
    if row.status == "better":
        return "good"
    return "soft" if row.status in {"same", "not gated", "advisory"} else ""
