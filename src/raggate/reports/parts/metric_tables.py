"""What was measured: the metrics that decide, all others, and the slices that moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from raggate.base.numbers import counted
from raggate.config.gate_settings import DEFAULT_GATED
from raggate.models.comparison import Delta
from raggate.models.metric_names import counted_metrics
from raggate.models.scorecard import EPSILON, OVERALL, MetricValue, Scorecard
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.parts import formatting
from raggate.reports.parts.document import KEPT, Cell, Part, Span, Table, bulleted, line
from raggate.reports.parts.formatting import BAD
from raggate.reports.parts.reasons import greeted
from raggate.scoring import figures

COURSE = "baseline → now"
DECIDING = ("metric", "change", COURSE, "questions")
"""Columns of what made a verdict red."""
EVERYTHING = (*DECIDING, "allowed", "status", "95%")
NUMBERS = ("change", COURSE, "95%", "value", "questions", "allowed")
"""Columns whose cells stay on one line."""


def deciding(review: Review) -> Part:
    """Return the metrics that make it red, and the slice that lost most."""
    rows = [row for row in formatting.main_rows(review.verdict.rows) if row.status in BAD]
    several = review.scorecard.several_modes
    deltas = [row.delta for row in formatting.slice_rows(review.verdict.rows)[:1] if rows]
    worst = [
        f"Worst slice: {delta.slice}, {name_of(delta, several=several)} {figures.course(delta)}." for delta in deltas
    ]
    blocks = (metric_table(rows, DECIDING, several=several), *bulleted(worst))
    return Part(name="metrics", title="Metrics", blocks=blocks, rank=KEPT)


def others(review: Review) -> Part:
    """Fold all other metrics."""
    several = review.scorecard.several_modes
    rows = formatting.main_rows(review.verdict.rows)
    calm = [row for row in rows if row.status not in BAD]
    moved, same = ([row for row in calm if (row.status == "same") == same] for same in (False, True))
    ungated = formatting.other_rows(review.verdict.rows)
    counts = (
        (moved, "metric", "moved within limits"),
        (same, "metric", "unchanged"),
        (ungated, "ungated metric", "moved"),
    )
    titles = []
    for group, noun, what in counts:
        places = [(row.delta.metric, row.delta.mode, row.delta.slice) for row in group]
        titles += [f"{counted_metrics(places, noun)} {what}"] if places else []
    table = metric_table([*moved, *same, *ungated], EVERYTHING, several=several)
    return Part(name="other metrics", title=" · ".join(titles), blocks=(table,), folded=True, rank=8)


def metric_table(rows: Sequence[GatedMetric], columns: Sequence[str], *, several: bool) -> Table:
    """Return a table of metrics with some of the columns `EVERYTHING`."""
    return Table(tuple(columns), [_cells(row, columns, several=several) for row in rows], NUMBERS, most=200)


def _cells(row: GatedMetric, columns: Sequence[str], *, several: bool) -> tuple[Cell, ...]:
    delta, change, bad = row.delta, figures.change(row.delta), row.status in BAD
    limit = "" if row.allowed is None or "allowed" in columns else f" (limit {figures.allowed(row)})"
    beside = "status" not in columns
    excused = bad and (row.waived or row.unproven)
    mark = "🔸 " if excused else "❌ " if bad else ""
    told = beside and (excused or row.status != "worse")
    status = f" ({formatting.status(row)})" if told else ""
    cells: dict[str, Cell] = {
        "metric": f"{mark}{name_of(delta, several=several)}{status}",
        "change": line(Span(change, "bold" if bad else ""), limit if beside else ""),
        COURSE: figures.course(delta),
        "questions": figures.moved(delta),
        "allowed": figures.allowed(row),
        "status": formatting.status(row) + ("" if beside else limit),
        "95%": figures.interval(delta),
    }
    return tuple(cells[name] for name in columns)


def measured(review: Review) -> Part:
    """Return what was measured where nothing is compared: folded, but on a first run."""
    rows = [] if review.verdict.rows else measured_rows(review.scorecard)
    table = Table(("metric", "value", "questions"), rows, NUMBERS)
    shown = greeted(review)
    return Part(name="what was measured", title="What was measured", blocks=(table,), folded=not shown, rank=4)


def measured_rows(scorecard: Scorecard) -> list[tuple[str, str, str]]:
    """Return metric, value and number of questions of what is gated by default, where nothing is compared."""
    several = scorecard.several_modes
    values = (
        (mode, metric, slices[OVERALL][metric])
        for mode, slices in scorecard.slices.items()
        for metric in sorted({*slices.get(OVERALL, {})} & {*DEFAULT_GATED}, key=formatting.natural)
    )
    return [
        (_named(metric, mode, several=several), figures.measured(metric, value), str(value.n))
        for mode, metric, value in values
        if value.n
    ]


def slices(review: Review) -> Part:
    """Fold the slices that got worse than allowed, or better by more than that, each by its metric that moved most."""
    rows = review.verdict.rows
    worse, better = (formatting.slice_rows(rows, better=better) for better in (False, True))
    # under `gate.slices: fail` they are among the causes
    causes = {(reason.mode, reason.slice) for reason in review.verdict.reasons}
    decides = any((row.delta.mode, row.delta.slice) in causes for row in worse)
    groups: dict[tuple[str, str, str], list[GatedMetric]] = {}
    for row in (*worse, *better):
        groups.setdefault((row.delta.mode, row.delta.slice, row.status), []).append(row)
    cells = [_slice(group, several=review.scorecard.several_modes) for group in groups.values()]
    count = Counter(status for _, _, status in groups)
    title = " · ".join(f"{counted(number, 'slice')} got {status}" for status, number in count.items())
    table = Table(("slice", *DECIDING), cells, NUMBERS)
    return Part(name="slices", title=title, blocks=(table,), folded=not decides, rank=3 if decides else 6)


def _slice(rows: Sequence[GatedMetric], *, several: bool) -> tuple[str, ...]:
    delta = rows[0].delta
    more = f", +{counted(len(rows) - 1, 'metric')}" if len(rows) > 1 else ""
    return (
        f"{delta.slice} ({delta.mode})" if several else delta.slice,
        f"{figures.title(delta.metric)}{more}",
        figures.change(delta),
        figures.course(delta),
        figures.moved(delta),
    )


def in_words(review: Review, most: int) -> list[str]:
    """Write the worst rows in one line each, for a short message."""
    several = review.scorecard.several_modes
    worst = [row for row in formatting.main_rows(review.verdict.rows) if row.status in BAD][:most]
    texts = [f"{figures.change(row.delta)}: {figures.course(row.delta)}, {formatting.status(row)}" for row in worst]
    return [f"{name_of(row.delta, several=several)} {text}" for row, text in zip(worst, texts, strict=True)]


def name_of(delta: Delta, *, several: bool) -> str:
    """Name a metric, with its mode where there are several."""
    return _named(delta.metric, delta.mode, several=several)


def _named(metric: str, mode: str, *, several: bool) -> str:
    return f"{figures.title(metric)} ({mode})" if several else figures.title(metric)


def whole_of(delta: Delta) -> MetricValue | None:
    """Return the run's own value over all its cases, where that is another than the one that is compared."""
    whole, now = delta.full_run, delta.current.value
    if whole is None or whole.value is None:
        return None
    return None if now is not None and abs(whole.value - now) <= EPSILON else whole
