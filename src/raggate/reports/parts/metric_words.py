"""What the table of metrics does not show: values over other questions, and which questions make a metric red."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.models.comparison import Delta
from raggate.models.scorecard import EPSILON, OVERALL, MetricValue, improvement
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.parts import formatting
from raggate.scoring import figures
from raggate.text.numbers import counted

SHOWN = 10
"""Questions that are named for a metric."""


def sentences(review: Review) -> Iterator[str]:
    """Yield them. Not escaped."""
    several = review.scorecard.several_modes
    rows = formatting.main_rows(review.verdict.rows)
    yield from _whole([row for row in rows if row.status != "same"], several=several)
    yield from (f"{name_of(row.delta, several=several)}: {text}." for row, text in _unlisted(review, rows))


def name_of(delta: Delta, *, several: bool) -> str:
    """Name a metric, with its mode where there are several."""
    return f"{figures.title(delta.metric)} ({delta.mode})" if several else figures.title(delta.metric)


def whole_of(delta: Delta) -> MetricValue | None:
    """Return the run's own value over all its cases, where that is another than the one that is compared."""
    whole, now = delta.full_run, delta.current.value
    if whole is None or whole.value is None:
        return None
    return None if now is not None and abs(whole.value - now) <= EPSILON else whole


def _whole(rows: list[GatedMetric], *, several: bool) -> Iterator[str]:
    """Say what the run's own values are over all its questions, where those are others than the ones compared."""
    parts: dict[int, list[str]] = {}
    for row in rows:
        if (whole := whole_of(row.delta)) is not None:
            value = figures.value(row.delta.metric, whole, beside=row.delta.current.value)
            parts.setdefault(whole.n, []).append(f"{name_of(row.delta, several=several)} {value}")
    if parts:
        values = "; ".join(f"of {number}: {', '.join(named)}" for number, named in parts.items())
        yield f"Over all questions, compared or not, {values}."


def _unlisted(review: Review, rows: list[GatedMetric]) -> Iterator[tuple[GatedMetric, str]]:
    """Name the questions of red metrics, where the lists of questions do not have them all."""
    flips = (*review.comparison.flips, *review.fallen)
    listed = {(flip.mode, flip.case_id) for flip in flips if flip.kind != "fixed"}
    for row in rows:
        if row.status not in formatting.BAD or row.waived or not row.gated:
            continue
        fell = [name for name in row.delta.fell if (row.delta.mode, name) not in listed]
        if fell:
            yield row, f"also worse in {_names(fell)}"
        elif not row.delta.fell and (low := _lowest(review, row)):
            yield row, f"without a question that got worse; lowest in {_names(low)}"


def _lowest(review: Review, row: GatedMetric) -> list[str]:
    """Return the questions whose value is worst, where none of them is known to have got worse."""
    metric, mode = row.delta.metric, row.delta.mode
    valued = [
        (value, case.case_id)
        for case in review.scorecard.cases
        if case.mode == mode and (value := case.values.get(metric)) is not None
    ]
    if not valued or row.delta.slice != OVERALL:
        return []
    direction = row.delta.current.direction
    worst = min(valued, key=lambda pair: improvement(direction, 0.0, pair[0]))[0]
    mean = row.delta.current.value
    # where all are alike none is the one to look at
    return [] if mean is not None and abs(worst - mean) <= EPSILON else [name for v, name in valued if v == worst]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{counted(len(names), 'question')} ({', '.join(names[:SHOWN])}{more})"
