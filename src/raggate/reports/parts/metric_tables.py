"""What was measured: the table of deltas, what did not move, the slices that moved, the invariants that broke."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from raggate.models.comparison import Delta, Finding
from raggate.models.metric_names import counted_metrics
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.parts import formatting
from raggate.reports.parts.budget import KEPT, Section
from raggate.reports.parts.formatting import BAD
from raggate.reports.parts.markup import bullets, folded, inert, listed, table
from raggate.text.escape import markdown as safe

SHOWN_SLICES = 40
TOP = 3
"""Worst rows that every page keeps."""

_NUMBERS = ("baseline", "this&nbsp;PR", "now", "delta", "95&nbsp;%", "allowed", "value")


def deltas(review: Review, *, now: str) -> Section:
    """Write the table of the metrics that decide and moved; on a pass where none did, only how many there are."""
    rows = [row for row in formatting.main_rows(review.verdict.rows) if row.status != "same"]
    several = len(review.scorecard.slices) > 1
    worst = [row for row in rows if row.status in BAD]
    full = f"### Metrics\n\n{_table(rows, several=several, now=now)}" if rows else ""
    bad = f"### Metrics\n\n{_table(worst, several=several, now=now)}" if worst and len(worst) < len(rows) else ""
    short = bullets(worst, partial(_line, several=several), TOP)
    return Section(name="metrics", rank=KEPT if worst else 2, variants=(full, bad, short))


def _line(row: GatedMetric, *, several: bool) -> str:
    before, after = _values(row.delta)
    return f"- {_name(row.delta, several=several, width=40)}: {before} → {after}, {formatting.status(row)}"


def unmoved(review: Review, *, now: str) -> Section:
    """Fold what decides and did not move, and what moved and does not decide."""
    several = len(review.scorecard.slices) > 1
    same = [row for row in formatting.main_rows(review.verdict.rows) if row.status == "same"]
    others = formatting.other_rows(review.verdict.rows)
    parts = []
    titles = []
    if same:
        titles.append(f"{counted_metrics(map(_place, same))} unchanged")
        still = [_still(row, several=several) for row in same]
        parts.append(table(("metric", "value", "allowed", "questions"), still, numbers=_NUMBERS))
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
    head = ["metric", "baseline", now.replace(" ", "&nbsp;"), "delta", "95&nbsp;%", "allowed", "status", "questions"]
    return table(head, [_row(row, several=several) for row in rows], numbers=_NUMBERS)


def _still(row: GatedMetric, *, several: bool) -> list[str]:
    return [
        _name(row.delta, several=several),
        formatting.figure(row.delta.current, binary=row.delta.binary),
        formatting.allowed(row),
        # one value can stand for other questions than before
        _moved(row.delta),
    ]


def _row(row: GatedMetric, *, several: bool) -> list[str]:
    delta = row.delta
    bold = "**" if row.status in BAD else ""
    mark = "🔸" if (row.waived or row.unproven) and row.status in BAD else formatting.MARKS[row.status]
    sign = f"{mark}&nbsp;" if row.gated or bold or row.status in {"no baseline", "advisory"} else ""
    return [
        f"{sign}{_name(delta, several=several)}",
        *_values(delta),
        f"{bold}{formatting.change(delta)}{bold}",
        formatting.interval(delta).replace(" ", "&nbsp;"),
        formatting.allowed(row).replace(" ", "&nbsp;"),
        formatting.status(row).replace(" ", "&nbsp;"),
        _moved(delta),
    ]


def _moved(delta: Delta) -> str:
    """Write how many questions a value covers and how many of them moved, so that a row stays one line."""
    return formatting.cases(delta).replace(" ", "&nbsp;")


def _name(delta: Delta, *, several: bool, width: int = 120) -> str:
    mode = f" ({safe(delta.mode, limit=width)})" if several else ""
    return f"{safe(delta.metric, limit=width)}{mode}"


def _values(delta: Delta) -> tuple[str, str]:
    return formatting.figure(delta.baseline, binary=delta.binary), formatting.now(delta, gap="&nbsp;")


def measured(review: Review) -> Section:
    """Write what was measured where nothing is compared: open on a first run, else folded."""
    rows = [] if review.verdict.rows else formatting.measured(review.scorecard)
    several = len(review.scorecard.slices) > 1
    lines = [
        [
            f"{safe(metric)} ({safe(mode, limit=60)})" if several else safe(metric),
            formatting.figure(value, binary=False),
            str(value.n),
        ]
        for mode, metric, value in rows
    ]
    text = table(("metric", "value", "questions"), lines, numbers=_NUMBERS) if lines else ""
    opened = f"### What was measured\n\n{text}" if text else ""
    return Section(
        name="what was measured",
        rank=4,
        variants=(opened if review.context.first_run else folded("What was measured", text),),
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
    several = len(review.scorecard.slices) > 1
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
        lines.append(
            [
                f"{safe(delta.slice, limit=120)}{mode}",
                f"{safe(delta.metric)}{others}",
                *_values(delta),
                formatting.change(delta),
                _moved(delta),
            ]
        )
    head = ("slice", "metric", "baseline", now.replace(" ", "&nbsp;"), "delta", "questions")
    if len(rows) > SHOWN_SLICES:
        lines.append([f"… and {len(rows) - SHOWN_SLICES} more in verdict.json", *[""] * (len(head) - 1)])
    return table(head, lines, numbers=_NUMBERS)


def invariants(review: Review) -> Section:
    """Write the invariants that do not hold, those that break the gate first."""
    if not review.findings:
        return Section(name="invariants", rank=KEPT, variants=())
    title = f"### Invariants not met ({len(review.findings)})\n\n"
    full = "\n".join(_finding(finding, examples=5, width=300) for finding in review.findings)
    middle = "\n".join(_finding(finding, examples=1, width=120) for finding in review.findings)
    short = ", ".join(f"{_level(finding)} {safe(finding.invariant, limit=40)}" for finding in review.findings[:20])
    return Section(
        name="invariants",
        rank=KEPT,
        variants=(title + full, title + middle, f"**Invariants not met**: {short}"),
    )


def _finding(finding: Finding, *, examples: int, width: int) -> str:
    times = f", {finding.count} times" if finding.count > 1 else ""
    shown = "".join(f"\n  - {inert(example, limit=width, middle=True)}" for example in finding.examples[:examples])
    level = "error" if finding.level == "error" else "warning"
    name = f"**{safe(finding.invariant, limit=60)}** ({level}{times})"
    return f"- {_level(finding)} {name}: {inert(finding.message, limit=width, middle=True)}{shown}"


def _level(finding: Finding) -> str:
    return "⛔" if finding.level == "error" else "⚠️"


def in_words(review: Review, most: int) -> list[str]:
    """Write the worst rows in one line each, for a short message."""
    several = len(review.scorecard.slices) > 1
    worst = [row for row in formatting.main_rows(review.verdict.rows) if row.status in BAD]
    return [_line(row, several=several) for row in worst[:most]]
