"""How metrics went as small plots: versions of the baseline that asked the same as a line, runs as dots beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from raggate.models.scorecard import OVERALL, MetricValue
from raggate.models.trend import TrendPoint
from raggate.models.verdict import Review
from raggate.reports.parts import formatting
from raggate.reports.plot import MAX_VALUE
from raggate.scoring import figures
from raggate.text.numbers import rounded, setting

WIDTH, HEIGHT = 240.0, 64.0
_EDGE = 7.0
_LEAST_SPAN = 0.02
"""A line that hardly moves should look like one."""


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


def trends(review: Review) -> list[Trend]:
    """Return a plot for each metric that decides and was measured before; none for a run without a verdict."""
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
    if now is None or now.value is None:
        return None
    run = review.run
    values = {mode: {metric: now.value}}
    this = TrendPoint(kind="run", stamp=run.started, name=run.run_id, questions=run.golden.hash, values=values)
    points = (*review.context.trend, this)
    return trend_of(mode, metric, points, newest=this)


def trend_of(mode: str, metric: str, points: Sequence[TrendPoint], *, newest: TrendPoint) -> Trend | None:
    """Plot what was measured at several times, from old to new; None with a value at fewer than two of them.

    Args:
        points: what was measured; values that are no numbers are left out.
        newest: the point that the others are looked at from, the last or the last but some runs.
    """
    valued = [(point, point.values.get(mode, {}).get(metric)) for point in points]
    measured = [(point, value) for point, value in valued if value is not None and abs(value) <= MAX_VALUE]
    values = [value for _, value in measured]
    if len(measured) < 2:
        return None
    ends = min(values), max(values)
    dots = tuple(_dot(place, measured, ends, newest, metric) for place in range(len(measured)))
    return Trend(
        metric=metric,
        mode=mode,
        newest=figures.amount(metric, newest.values.get(mode, {}).get(metric)),
        low=figures.amount(metric, ends[0]),
        high=figures.amount(metric, ends[1]),
        dots=dots,
        lines=tuple(_lines([(point, dot) for (point, _), dot in zip(measured, dots, strict=True)])),
    )


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
    words = [point.stamp[:16].replace("T", " "), name, figures.amount(metric, value)]
    return Dot(
        x=rounded(_EDGE + (WIDTH - 2 * _EDGE) * place / (len(points) - 1), 1),
        y=rounded(HEIGHT / 2 - (HEIGHT / 2 - _EDGE) * (value - middle) / half, 1),
        kind="now" if this else point.kind,
        words=" · ".join([*words, *filter(None, [asked])]),
        other=bool(asked),
    )
