"""What sways the judges of a run, as a page in Markdown and as text for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.models.judging_bias import JudgeBias
from raggate.reports.parts import bias_words, markup
from raggate.reports.parts.bias_words import Table
from raggate.reports.parts.markup import inert
from raggate.text.escape import log_line


def render_markdown(bias: JudgeBias) -> str:
    """Render the page."""
    parts = [
        "# What sways the judges",
        f"**{inert(bias_words.headline(bias), limit=1000, middle=True)}**",
        f"Suite {inert(bias.suite)}, run {inert(bias.run_id)}. {inert(bias_words.measured(bias), limit=600)}",
    ]
    for table in bias_words.tables(bias):
        rows = [[*map(inert, row)] for row in table.rows]
        parts += [f"## {table.title}", *([markup.table(table.head, rows)] if rows else [])]
        parts += [inert(note, limit=600, middle=True) for note in table.notes]
    return "\n\n".join(parts) + "\n"


def render_terminal(bias: JudgeBias) -> str:
    """Render it as text."""
    lines = [log_line(f"suite {bias.suite} · run {bias.run_id} · {bias_words.measured(bias)}")]
    for table in bias_words.tables(bias):
        lines += ["", table.title, *_columns(table), *map(log_line, table.notes)]
    return "\n".join([*lines, "", log_line(bias_words.headline(bias))]) + "\n"


def _columns(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    cells: Sequence[Sequence[str]] = [table.head, *([*map(log_line, row)] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
