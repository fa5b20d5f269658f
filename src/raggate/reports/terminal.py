"""The verdict for a terminal or a CI log: the delta table, the questions that broke, the reasons."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table
from rich.text import Text

from raggate.escape import log_line
from raggate.models import Flip, Judged, Review
from raggate.reports import figures

SHOWN_FLIPS = 15
_STYLES = {"worse": "red", "below floor": "red", "vanished": "red", "better": "green"}
_VERDICT_STYLES = {"pass": "bold green", "regression": "bold red", "invariant broken": "bold red"}


def render(review: Review, *, width: int, color: bool) -> str:
    """Render a run for a console of `width` columns; without `color` there are no escape codes at all."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, no_color=not color, highlight=False, emoji=False, markup=False
    )
    _head(review, console)
    _metrics(review, console)
    _flips(review, console)
    for title, reasons in (("Why", review.verdict.reasons), ("Warnings", review.verdict.warnings)):
        if reasons:
            console.print(Text(f"\n{title}", style="bold"))
        for reason in reasons[:12]:
            console.print(Text(f"  - {log_line(reason.message, limit=400)}"), soft_wrap=True)
        if len(reasons) > 12:
            console.print(f"  … and {len(reasons) - 12} more in summary.md")
    if review.run.log:
        console.print(Text("\nThe API's last log lines", style="bold"))
    for line in review.run.log:
        console.print(Text(f"  | {log_line(line, limit=300)}"), soft_wrap=True)
    verdict = review.verdict
    style = _VERDICT_STYLES.get(verdict.outcome, "bold yellow")
    console.print()
    console.print(Text(log_line(verdict.headline, limit=600)), soft_wrap=True)
    console.print(Text(f"verdict: {verdict.outcome} (exit {verdict.exit_code})", style=style))
    return stream.getvalue()


def _head(review: Review, console: Console) -> None:
    run = review.run
    modes = ", ".join(review.scorecard.slices)
    console.print(Text(f"\nraggate · suite {run.suite} · {len(run.golden.cases)} questions · {modes}", style="bold"))
    if review.scorecard.operations is not None:
        console.print(Text(log_line(figures.operations_line(review.scorecard.operations))), soft_wrap=True)
    baseline = review.comparison.baseline
    if baseline is not None:
        source = f"baseline {baseline.source} (run {baseline.scorecard.run_id or 'unknown'})"
        console.print(Text(log_line(f"{source}, {review.comparison.compared} cases compared")), soft_wrap=True)
    console.print()


def _metrics(review: Review, console: Console) -> None:
    rows = [*figures.main_rows(review.verdict.rows), *figures.slice_rows(review.verdict.rows)[:10]]
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    for name in ("baseline", "now", "delta", "allowed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("cases", no_wrap=True)
    several = len(review.scorecard.slices) > 1
    for row in rows:
        table.add_row(*_cells(row, several=several), style=_STYLES.get(row.status))
    console.print(table)


def _cells(row: Judged, *, several: bool) -> list[str]:
    delta = row.delta
    name = delta.metric if delta.slice == "overall" else f"{delta.metric} [{log_line(delta.slice, limit=60)}]"
    moved = figures.moves(delta)
    return [
        f"{name} ({delta.mode})" if several else name,
        figures.figure(delta.baseline, binary=delta.binary),
        figures.figure(delta.current, binary=delta.binary),
        figures.change(delta),
        figures.allowed(row),
        row.status,
        f"{delta.current.n}: {moved}" if moved else str(delta.current.n),
    ]


def _flips(review: Review, console: Console) -> None:
    broke = [flip for flip in review.comparison.flips if flip.kind == "broke"]
    fixed = [flip for flip in review.comparison.flips if flip.kind == "fixed"]
    if broke:
        console.print(Text(f"\nQuestions that broke ({len(broke)})", style="bold"))
    for flip in broke[:SHOWN_FLIPS]:
        _flip(flip, console)
    if len(broke) > SHOWN_FLIPS:
        console.print(f"  … and {len(broke) - SHOWN_FLIPS} more in summary.md")
    if fixed:
        names = ", ".join(flip.case_id for flip in fixed[:SHOWN_FLIPS])
        console.print(Text(log_line(f"\nQuestions that were fixed ({len(fixed)}): {names}")), soft_wrap=True)


def _flip(flip: Flip, console: Console) -> None:
    must = ", must pass" if flip.must_pass else ""
    lines = [
        f"  {flip.case_id} ({flip.mode}{must}): {figures.rank_change(flip)}",
        f"      asked:    {log_line(flip.question)}",
        f"      expected: {log_line(flip.gold)}",
        f"      why:      {log_line(flip.why)}",
    ]
    if flip.displaced_by:
        lines.append(f"      instead:  {log_line(flip.displaced_by)}")
    for line in lines:
        console.print(Text(line), soft_wrap=True)
