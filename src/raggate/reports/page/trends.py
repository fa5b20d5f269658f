"""How metrics went before a run as small plots: versions of the baseline as a line, stored runs as dots beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from raggate.models.scorecard import OVERALL, MetricValue
from raggate.models.trend import TrendPoint
from raggate.models.verdict import Review
from raggate.reports.parts import formatting
from raggate.text.numbers import rounded, setting, written

WIDTH, HEIGHT = 240.0, 64.0
_EDGE = 7.0
_LEAST_SPAN = 0.02
"""A line that hardly moves should look like one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A point of a plot. `words` say what it is; `other` that other questions were asked there than now."""

    x: float
    y: float
    kind: str
    words: str
    other: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A metric over time; the last dot is this run. `line` joins the versions of the baseline."""

    metric: str
    mode: str
    now: str
    low: str
    high: str
    dots: tuple[Dot, ...]
    line: str


def trends(review: Review) -> list[Trend]:
    """Give a plot for each metric that decides and was measured before; none for a run without a verdict."""
    if formatting.undecided(review) or not review.context.trend:
        return []
    plots = []
    for row in formatting.main_rows(review.verdict.rows):
        value = review.scorecard.slices.get(row.delta.mode, {}).get(OVERALL, {}).get(row.delta.metric)
        plot = _trend(review, row.delta.mode, row.delta.metric, value)
        if plot is not None:
            plots.append(plot)
    return plots


def _trend(review: Review, mode: str, metric: str, now: MetricValue | None) -> Trend | None:
    past = [(point, point.values.get(mode, {}).get(metric)) for point in review.context.trend]
    earlier = [(point, value) for point, value in past if value is not None and isfinite(value)]
    if not earlier or now is None or now.value is None:
        return None
    run = review.run
    this = TrendPoint(kind="run", stamp=run.started, name=run.run_id, questions=run.golden.hash, values={})
    points = [*earlier, (this, now.value)]
    low, high = min(value for _, value in points), max(value for _, value in points)
    dots = tuple(_dot(place, points, (low, high), run.golden.hash) for place in range(len(points)))
    corners = " ".join(f"{setting(dot.x)},{setting(dot.y)}" for dot in dots if dot.kind == "baseline")
    return Trend(
        metric=metric, mode=mode, now=written(now.value), low=written(low), high=written(high), dots=dots, line=corners
    )


def _dot(place: int, points: Sequence[tuple[TrendPoint, float]], ends: tuple[float, float], questions: str) -> Dot:
    point, value = points[place]
    middle, half = (ends[0] + ends[1]) / 2, max(ends[1] - ends[0], _LEAST_SPAN) / 2
    last = place == len(points) - 1
    other = point.questions != questions
    words = [point.stamp[:16].replace("T", " "), "this run" if last else f"{point.kind} {point.name}", written(value)]
    return Dot(
        x=rounded(_EDGE + (WIDTH - 2 * _EDGE) * place / (len(points) - 1), 1),
        y=rounded(HEIGHT / 2 - (HEIGHT / 2 - _EDGE) * (value - middle) / half, 1),
        kind="now" if last else point.kind,
        words=" · ".join([*words, *(["other questions"] if other else [])]),
        other=other,
    )
