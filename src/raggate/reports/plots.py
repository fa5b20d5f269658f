"""Plots: how a metric went over time, and how far it changed. Places and words, no markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from raggate.base.numbers import rounded, setting
from raggate.models.history import TrendPoint
from raggate.models.scorecard import EPSILON, oriented
from raggate.models.verdict import GatedMetric
from raggate.scoring import figures

MAX_VALUE = 1e12
"""Larger values are left out, as are those that are no numbers."""

WIDTH, HEIGHT = 240.0, 64.0
_EDGE = 7.0
_LEAST_SPAN = 0.02
"""A line that hardly moves should look like one."""

CHANGE_WIDTH = 150.0
"""Width of the plot of a change; no change stands in its middle."""


class Dot(Struct, frozen=True, kw_only=True):
    """A point of a plot. `words` say what it is; `other` that the questions were others than now, or are not known."""

    x: float
    y: float
    kind: str
    words: str
    other: bool


class Trend(Struct, frozen=True, kw_only=True):
    """A metric over time. Each of the `lines` joins versions of the baseline that asked the same questions."""

    metric: str
    mode: str
    newest: str
    low: str
    high: str
    dots: tuple[Dot, ...]
    lines: tuple[str, ...]


def trend_of(mode: str, metric: str, points: Sequence[TrendPoint], *, newest: TrendPoint) -> Trend | None:
    """Plot what was measured from old to new, looked at from `newest`; None with fewer than two values."""
    valued = [(point, point.values.get(mode, {}).get(metric)) for point in points]
    measured = [(point, value) for point, value in valued if value is not None and abs(value) <= MAX_VALUE]
    values = [value for _, value in measured]
    if len(measured) < 2:
        return None
    ends = min(values), max(values)
    dots = tuple(_dot(place, measured, ends, newest, metric) for place in range(len(measured)))
    now, low, high = (figures.amount(metric, value) for value in (newest.values.get(mode, {}).get(metric), *ends))
    lines = tuple(_lines([(point, dot) for (point, _), dot in zip(measured, dots, strict=True)]))
    return Trend(metric=metric, mode=mode, newest=now, low=low, high=high, dots=dots, lines=lines)


def _lines(drawn: Sequence[tuple[TrendPoint, Dot]]) -> Iterator[str]:
    """Join versions that follow each other and asked the same questions; of one that names none nobody knows."""
    versions = [(point, dot) for point, dot in drawn if point.kind == "baseline"]
    for questions, alike in groupby(versions, key=lambda version: version[0].questions):
        corners = [f"{setting(dot.x)},{setting(dot.y)}" for _, dot in alike]
        if questions and len(corners) > 1:
            yield " ".join(corners)


def _dot(
    place: int,
    points: Sequence[tuple[TrendPoint, float]],
    ends: tuple[float, float],
    newest: TrendPoint,
    metric: str,
) -> Dot:
    point, value = points[place]
    middle, half = (ends[0] + ends[1]) / 2, max(ends[1] - ends[0], _LEAST_SPAN) / 2
    # of the runs, only the one that a page is of is looked at from
    this = point is newest and point.kind == "run"
    asked = "" if point.questions == newest.questions else "other questions"
    asked = asked if point.questions else "nobody knows over which questions"
    name = "this run" if this else f"{point.kind} {point.name}"
    words = (point.stamp[:16].replace("T", " "), name, figures.amount(metric, value), asked)
    return Dot(
        x=rounded(_EDGE + (WIDTH - 2 * _EDGE) * place / (len(points) - 1), 1),
        y=rounded(HEIGHT / 2 - (HEIGHT / 2 - _EDGE) * (value - middle) / half, 1),
        kind="now" if this else point.kind,
        words=" · ".join(filter(None, words)),
        other=bool(asked),
    )


class ChangePlot(Struct, frozen=True, kw_only=True):
    """Where a change lies from worse (0) to better (`CHANGE_WIDTH`), with its interval and how far it may fall."""

    change: float
    interval: tuple[float, float] | None
    allowed: float | None


def change_plots(rows: Sequence[GatedMetric]) -> list[ChangePlot | None]:
    """Return where each change lies, all on one scale; None for one without a change to draw."""
    # how far from no change everything lies that is drawn
    ends = (end for row in rows for end in (row.delta.delta or 0.0, *(row.delta.interval or ()), row.allowed or 0.0))
    reach = max(map(abs, ends), default=0.0)
    return [None if row.delta.delta is None or reach <= EPSILON else _change_plot(row, reach) for row in rows]


def _change_plot(row: GatedMetric, reach: float) -> ChangePlot:
    delta = row.delta

    def place(change: float) -> float:
        share = oriented(delta.current.direction, change) / reach
        return rounded(CHANGE_WIDTH / 2 * (1 + share * 0.96), 1)

    low, high = sorted(map(place, delta.interval or (0.0, 0.0)))
    limit = None if row.allowed is None else rounded(CHANGE_WIDTH / 2 * (1 - row.allowed / reach * 0.96), 1)
    interval = None if delta.interval is None else (low, high)
    return ChangePlot(change=place(delta.delta or 0.0), interval=interval, allowed=limit)
