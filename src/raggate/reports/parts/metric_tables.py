"""What was measured: the table of changes, what stands beside it, what did not move, and the slices that moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from raggate.models.comparison import Delta
from raggate.models.metric_names import counted_metrics
from raggate.models.scorecard import EPSILON, OVERALL, MetricValue, improvement
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.parts import formatting
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.formatting import BAD
from raggate.reports.parts.markup import bullets, folded, listed, table
from raggate.reports.parts.reasons import greeted
from raggate.scoring import figures
from raggate.text.escape import markdown as safe
from raggate.text.numbers import counted

SHOWN_SLICES = 40
TOP = 3
"""Worst rows that every page keeps."""

_COURSES = ("baseline&nbsp;→<br>this&nbsp;PR", "baseline&nbsp;→<br>now")
_NUMBERS = ("change", *_COURSES, "95%", "value", "questions")


NAMED = 10
"""Questions that are named for a metric."""


def deltas(review: Review, *, now: str) -> Section:
    """Write the table of the metrics that decide and moved; on a pass where none did, nothing."""
    rows = [row for row in formatting.main_rows(review.verdict.rows) if row.status != "same"]
    several = review.scorecard.several_modes
    worst = [row for row in rows if row.status in BAD]
    named = [f"<sub>{safe(text, limit=600, middle=True)}</sub>" for text in beside(review)]
    below = "".join(f"\n\n{text}" for text in named)
    full = f"### Metrics\n\n{_table(rows, several=several, now=now)}{below}" if rows else ""
    bad = f"### Metrics\n\n{_table(worst, several=several, now=now)}" if worst and len(worst) < len(rows) else ""
    short = bullets(worst, partial(_line, several=several), TOP)
    return Section(name="metrics", rank=KEPT if worst else 2, variants=(full, bad, short))


def _line(row: GatedMetric, *, several: bool) -> str:
    delta = row.delta
    name = _name(delta, several=several, width=40)
    whole = whole_of(delta)
    value = "" if whole is None else f" ({figures.value(delta.metric, whole)} over all {whole.n})"
    return f"- {name} **{figures.change(delta)}**: {figures.course(delta)}{value}, {formatting.status(row)}"


def unmoved(review: Review, *, now: str) -> Section:
    """Fold what decides and did not move, and what moved and does not decide."""
    several = review.scorecard.several_modes
    same = [row for row in formatting.main_rows(review.verdict.rows) if row.status == "same"]
    others = formatting.other_rows(review.verdict.rows)
    parts = []
    titles = []
    if same:
        titles.append(f"{counted_metrics(map(_place, same))} unchanged")
        head = ["metric", "value", "questions", *_limits(same)]
        still = [_still(row, several=several)[: len(head)] for row in same]
        parts.append(table(head, still, numbers=_NUMBERS))
    if others:
        titles.append(f"{counted_metrics(map(_place, others), 'ungated metric')} moved")
        parts.append(("**Moved, but not gated**\n\n" if same else "") + _table(others, several=several, now=now))
    title = " · ".join(titles)
    return Section(
        name="unchanged metrics",
        rank=9,
        variants=(folded(title, "\n\n".join(parts)), f"<sub>{title}</sub>" if title else ""),
    )


def _place(row: GatedMetric) -> tuple[str, str, str]:
    return row.delta.metric, row.delta.mode, row.delta.slice


def _table(rows: Sequence[GatedMetric], *, several: bool, now: str) -> str:
    intervals = any(row.delta.interval is not None for row in rows)
    last = ["95%"] if intervals else []
    limits = _limits(rows)
    head = ["metric", "change", _course_head(now), "questions", *limits, "status", *last]
    cells = [_row(row, several=several, limits=bool(limits))[: len(head)] for row in rows]
    return table(head, cells, numbers=_NUMBERS)


def _limits(rows: Sequence[GatedMetric]) -> list[str]:
    """Name the column of what is allowed; none where nothing is, as of a part of the questions."""
    return ["allowed"] if any(row.allowed is not None for row in rows) else []


def _course_head(now: str) -> str:
    # in two lines, so that the values of a narrow column are seen on a phone
    return f"baseline&nbsp;→<br>{now.replace(' ', '&nbsp;')}"


def _still(row: GatedMetric, *, several: bool) -> list[str]:
    delta = row.delta
    # one value can stand for other questions than before
    cells = [figures.course(delta), figures.moved(delta), figures.allowed(row)]
    return [_name(delta, several=several), *map(_unbroken, cells)]


def _row(row: GatedMetric, *, several: bool, limits: bool) -> list[str]:
    delta = row.delta
    bold = "**" if row.status in BAD else ""
    mark = "🔸" if (row.waived or row.unproven) and row.status in BAD else formatting.MARKS[row.status]
    sign = f"{mark}&nbsp;" if row.gated or bold or row.status in {"no baseline", "advisory"} else ""
    limit = [figures.allowed(row)] if limits else []
    cells = [figures.course(delta), figures.moved(delta), *limit, formatting.status(row)]
    return [
        f"{sign}{_name(delta, several=several)}",
        _unbroken(f"{bold}{figures.change(delta)}{bold}"),
        *map(_unbroken, cells),
        _unbroken(figures.interval(delta)),
    ]


def _unbroken(cell: str) -> str:
    """Keep a cell on one line, so that a row stays one."""
    return cell.replace(" ", "&nbsp;")


def _title(metric: str, width: int = 120) -> str:
    # of several words, which a phone may break: the numbers beside them are what counts
    return safe(figures.title(metric), limit=width)


def _name(delta: Delta, *, several: bool, width: int = 120) -> str:
    mode = f" ({safe(delta.mode, limit=width)})" if several else ""
    return f"{_title(delta.metric, width)}{mode}"


def measured(review: Review) -> Section:
    """Write what was measured where nothing is compared: open on a first run, else folded."""
    rows = [] if review.verdict.rows else formatting.measured(review.scorecard)
    several = review.scorecard.several_modes
    lines = [
        [
            f"{_title(metric)}{f' ({safe(mode, limit=60)})' if several else ''}",
            _unbroken(figures.measured(metric, value)),
            str(value.n),
        ]
        for mode, metric, value in rows
    ]
    text = table(("metric", "value", "questions"), lines, numbers=_NUMBERS) if lines else ""
    opened = f"### What was measured\n\n{text}" if text else ""
    return Section(
        name="what was measured",
        rank=4,
        variants=(opened if greeted(review) else folded("What was measured", text),),
    )


def slices(review: Review, *, now: str, full: bool) -> Section:
    """Fold the slices that got worse than allowed; `full` gives every metric of a slice, else the worst one."""
    rows = formatting.slice_rows(review.verdict.rows)
    # under `gate.slices: fail` they are among the causes
    causes = {(reason.mode, reason.slice) for reason in review.verdict.reasons}
    decides = any((row.delta.mode, row.delta.slice) in causes for row in rows)
    variants = _slice_variants(review, rows, "Slices that got worse", now=now, full=full, opened=decides)
    return Section(name="slices", rank=3 if decides else 5, variants=variants)


def better_slices(review: Review, *, now: str, full: bool) -> Section:
    """Fold the slices that got better by more than they were allowed to get worse."""
    rows = formatting.slice_rows(review.verdict.rows, better=True)
    variants = _slice_variants(review, rows, "Slices that got better", now=now, full=full)
    return Section(name="slices that got better", rank=8, variants=variants)


def _slice_variants(
    review: Review, rows: Sequence[GatedMetric], title: str, *, now: str, full: bool, opened: bool = False
) -> tuple[str, ...]:
    if not rows:
        return ()
    whole: dict[tuple[str, str], list[GatedMetric]] = {}
    for row in rows:
        whole.setdefault((row.delta.mode, row.delta.slice), []).append(row)
    titled = f"{title} ({len(whole)})"
    several = review.scorecard.several_modes
    first = [(group[0], len(group) - 1) for group in whole.values()]
    tables = [_slice_table([(row, 0) for row in rows], several=several, now=now)] if full else []
    tables += [_slice_table(first, several=several, now=now), _slice_table(first[:TOP], several=several, now=now)]
    names = f"**{titled}**: {listed([name for _, name in whole], most=TOP, width=60)}"
    return (*(folded(titled, text, opened=opened) for text in tables), names)


def _slice_table(rows: Sequence[tuple[GatedMetric, int]], *, several: bool, now: str) -> str:
    lines = []
    for row, more in rows[:SHOWN_SLICES]:
        delta = row.delta
        mode = f" ({safe(delta.mode, limit=60)})" if several else ""
        others = f"<br><sub>and {more} more</sub>" if more else ""
        cells = (figures.change(delta), figures.course(delta), figures.moved(delta))
        name = _title(delta.metric)
        lines.append([f"{safe(delta.slice, limit=120)}{mode}", f"{name}{others}", *map(_unbroken, cells)])
    head = ("slice", "metric", "change", _course_head(now), "questions")
    if len(rows) > SHOWN_SLICES:
        lines.append([f"… and {len(rows) - SHOWN_SLICES} more in verdict.json", *[""] * (len(head) - 1)])
    return table(head, lines, numbers=_NUMBERS)


def in_words(review: Review, most: int) -> list[str]:
    """Write the worst rows in one line each, for a short message."""
    several = review.scorecard.several_modes
    worst = [row for row in formatting.main_rows(review.verdict.rows) if row.status in BAD]
    return [_line(row, several=several) for row in worst[:most]]


def beside(review: Review) -> Iterator[str]:
    """Yield them. Not escaped."""
    several = review.scorecard.several_modes
    rows = formatting.main_rows(review.verdict.rows)
    yield from _whole_values([row for row in rows if row.status != "same"], several=several)
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


def _whole_values(rows: list[GatedMetric], *, several: bool) -> Iterator[str]:
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
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{counted(len(names), 'question')} ({', '.join(names[:NAMED])}{more})"
