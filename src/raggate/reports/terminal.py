"""The verdict for a terminal or a CI log: the delta table, the questions that broke, the reasons."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from raggate.models.comparison import Flip
from raggate.models.verdict import GatedMetric, Reason, Review
from raggate.reports.parts import causes, evidence, formatting, judging, misses
from raggate.text.escape import log_line
from raggate.text.numbers import counted

SHOWN_FLIPS = 15
SHOWN_SLICES = 10
SHOWN_UNDECIDED = 3
"""Questions that are named where there is no verdict."""

ROOMY = 100
"""Columns from which a table is set wide."""

WIDE = 120
"""Columns from which it has intervals."""
_STYLES = {"worse": "red", "below floor": "red", "vanished": "red", "better": "green"}
_VERDICT_STYLES = {"pass": "bold green", "regression": "bold red", "invariant broken": "bold red"}


def render(review: Review, *, width: int, color: bool) -> str:
    """Render a run for a console of `width` columns; without `color` there are no escape codes at all.

    The API's log is not part of it: whoever prints that keeps the runner from reading commands in it.
    """
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, no_color=not color, highlight=False, emoji=False, markup=False
    )
    _head(review, console)
    if formatting.undecided(review):
        _reasons("Why", formatting.deciding(review), console)
        _flips(review, console, most=0 if review.run.stopped is not None else SHOWN_UNDECIDED)
        console.print(f"\n{formatting.left_out(review)}", soft_wrap=True)
    else:
        _metrics(review, console)
        _causes(review, console)
        _misses(review, console)
        _flips(review, console)
        _reasons("Why", review.verdict.reasons, console)
    _reasons("Warnings", formatting.warnings(review), console)
    if review.lowers:
        console.print(Text(f"\n{log_line(formatting.promotion_note(review), limit=600)}"), soft_wrap=True)
    verdict = review.verdict
    style = _VERDICT_STYLES.get(verdict.outcome, "bold yellow")
    console.print()
    sentences = " ".join(filter(None, (verdict.headline, causes.likely(review))))
    console.print(Text(log_line(sentences, limit=1000)), soft_wrap=True)
    console.print(Text(f"verdict: {verdict.outcome} (exit {verdict.exit_code})", style=style))
    return stream.getvalue()


def _reasons(title: str, reasons: Sequence[Reason], console: Console) -> None:
    if reasons:
        console.print(Text(f"\n{title}", style="bold"))
    for reason in reasons[:12]:
        console.print(Text(f"  - {log_line(reason.message, limit=400)}"), soft_wrap=True)
    if len(reasons) > 12:
        console.print(f"  … and {len(reasons) - 12} more in summary.md")


def _head(review: Review, console: Console) -> None:
    run = review.run
    modes = ", ".join(review.scorecard.slices)
    asked = run.selection.sentence if run.selection is not None else counted(len(run.golden.cases), "question")
    title = log_line(f"raggate · suite {run.suite} · {asked} · {modes}")
    console.print()
    console.print(Text(title, style="bold"), soft_wrap=True)
    if review.scorecard.operations is not None:
        console.print(Text(log_line(formatting.operations_line(review.scorecard))), soft_wrap=True)
    baseline = review.comparison.baseline
    if baseline is not None:
        source = f"baseline {baseline.source} (run {baseline.scorecard.run_id or 'unknown'})"
        console.print(Text(log_line(f"{source}, {formatting.compared(review.comparison)}")), soft_wrap=True)
    ignored = review.run.provenance.ignored
    if ignored:
        note = f"judged by commit {str(review.run.provenance.against)[:12]}; not used: {', '.join(ignored)}"
        console.print(Text(log_line(note, limit=300)), soft_wrap=True)
    for line in judging.sentences(run):
        console.print(Text(log_line(line, limit=500)), soft_wrap=True)
    if not formatting.undecided(review):
        console.print()


def _metrics(review: Review, console: Console) -> None:
    several = len(review.scorecard.slices) > 1
    if not review.verdict.rows:
        table = _table(console, "metric", "value", "cases")
        for mode, metric, value in formatting.measured(review.scorecard):
            table.add_row(_name(metric, mode, several=several), formatting.figure(value, binary=False), str(value.n))
        _print_table(table, console)
        _evidence(review, console)
        return
    wide = ["95 %"] if console.width >= WIDE else []
    table = _table(console, "metric", "baseline", "now", "delta", *wide, "allowed", "status", "cases")
    for row in formatting.main_rows(review.verdict.rows):
        name = _name(row.delta.metric, row.delta.mode, several=several)
        cells = [*_values(row), *(formatting.interval(row.delta) for _ in wide)]
        cells += [formatting.allowed(row), formatting.status(row), _cases(row)]
        table.add_row(name, *cells, style=_style(row))
    _print_table(table, console)
    _evidence(review, console)
    slices = formatting.slice_rows(review.verdict.rows)
    table = _table(console, "slice", "metric", "baseline", "now", "delta", "cases")
    for row in slices[:SHOWN_SLICES]:
        name = _name(row.delta.slice, row.delta.mode, several=several)
        table.add_row(name, log_line(row.delta.metric), *_values(row), _cases(row), style=_style(row))
    if slices:
        title = f"Slices that got worse ({counted(len(slices), 'value')})"
        console.print(Text(f"\n{title}", style="bold"))
        _print_table(table, console)
    if len(slices) > SHOWN_SLICES:
        console.print(f"  … and {len(slices) - SHOWN_SLICES} more in summary.md")


def _evidence(review: Review, console: Console) -> None:
    if lines := evidence.lines_of(review):
        console.print(Text("\n" + "\n".join(log_line(line, limit=500) for line in lines)), soft_wrap=True)


def _table(console: Console, first: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2 if console.width >= ROOMY else 1, 0, 0))
    table.add_column(first, overflow="fold")
    for name in columns:
        left = name in {"metric", "status", "cases"}
        table.add_column(name, justify="left" if left else "right", overflow="fold")
    return table


def _print_table(table: Table, console: Console) -> None:
    if table.row_count:
        console.print(table)


def _name(metric: str, mode: str, *, several: bool) -> Text:
    return Text(log_line(f"{metric} ({mode})" if several else metric, limit=120))


def _style(row: GatedMetric) -> str | None:
    """Give the colour of a row; one that a waiver excuses is not shown as a cause."""
    return "yellow" if row.waived or row.unproven else _STYLES.get(row.status)


def _values(row: GatedMetric) -> list[str]:
    delta = row.delta
    return [formatting.figure(delta.baseline, binary=delta.binary), formatting.now(delta), formatting.change(delta)]


def _cases(row: GatedMetric) -> str:
    """Write how many cases a value covers, and how many got worse and better, shorter than other reports do."""
    counts = [f"{sign}{count}" for sign, count in (("-", row.delta.regressed), ("+", row.delta.improved)) if count]
    return f"{row.delta.current.n} ({' '.join(counts)})" if counts else str(row.delta.current.n)


def _causes(review: Review, console: Console) -> None:
    for number, line in enumerate(causes.lines(review)):
        if number == 0:
            console.print(Text("\nCauses", style="bold"))
        console.print(Text(f"  - {log_line(line, limit=400)}"), soft_wrap=True)


def _misses(review: Review, console: Console) -> None:
    if not review.misses:
        return
    console.print(Text(f"\n{log_line(misses.title(review), limit=300)}", style="bold"))
    for line in misses.lines(review):
        console.print(Text(f"  {log_line(line, limit=500)}"), soft_wrap=True)
    for flip in review.misses[:SHOWN_FLIPS]:
        _flip(flip, console)
    if len(review.misses) > SHOWN_FLIPS:
        console.print(f"  … and {len(review.misses) - SHOWN_FLIPS} more in summary.md")


def _flips(review: Review, console: Console, most: int = SHOWN_FLIPS) -> None:
    broke = [flip for flip in review.comparison.flips if flip.kind == "broke"]
    fixed = [flip for flip in review.comparison.flips if flip.kind == "fixed"]
    fallen = [] if formatting.undecided(review) else [flip for flip in review.fallen if review.verdict.is_red(flip)]
    place = "verdict.json" if formatting.undecided(review) else "summary.md"
    for title, flips in ((f"Questions that broke ({len(broke)})", broke), (formatting.fallen_title(fallen), fallen)):
        if flips and most:
            console.print(Text(f"\n{title}", style="bold"))
            for flip in flips[:most]:
                _flip(flip, console)
            if len(flips) > most:
                console.print(f"  … and {len(flips) - most} more in {place}")
    if fixed and not formatting.undecided(review):
        names = ", ".join(flip.case_id for flip in fixed[:SHOWN_FLIPS]) + (", …" if len(fixed) > SHOWN_FLIPS else "")
        console.print()
        console.print(Text(log_line(f"Questions that were fixed ({len(fixed)}): {names}")), soft_wrap=True)


def _flip(flip: Flip, console: Console) -> None:
    must = ", must pass" if flip.must_pass else ""
    lines = [
        f"  {log_line(f'{flip.case_id} ({flip.mode}{must}): {formatting.rank_change(flip)}')}",
        f"      asked:    {log_line(flip.question)}",
        f"      expected: {log_line(flip.gold)}",
        f"      why:      {log_line(flip.why)}",
    ]
    if flip.displaced_by:
        lines.append(f"      instead:  {log_line(flip.displaced_by)}")
    if flip.trace_id:
        lines.append(f"      trace:    {log_line(flip.trace_id)}")
    for line in lines:
        console.print(Text(line), soft_wrap=True)
