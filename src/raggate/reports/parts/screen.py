"""Lines for a terminal: wrapped with hanging indents where a person reads them, left whole for a log."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from raggate.text.escape import log_line

JOINT = " · "

ROOMY = 100
"""Columns from which a table is set wide."""


class Screen:
    """What is printed, as a text.

    Args:
        width: columns.
        color: whether there are escape codes.
        wrap: whether lines are broken at the width; a log breaks them itself, and is searched line by line.
    """

    def __init__(self, *, width: int, color: bool, wrap: bool) -> None:
        self._stream = io.StringIO()
        self._color, self._wrap = color, wrap
        self.console = Console(
            file=self._stream,
            width=width,
            force_terminal=color,
            no_color=not color,
            highlight=False,
            emoji=False,
            markup=False,
        )

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.console.width

    def text(self) -> str:
        """Give all that was printed."""
        return self._stream.getvalue()

    def line(self, foreign: str = "", *, style: str = "", first: str = "", rest: str = "", limit: int = 1000) -> None:
        """Print foreign text as one line, which begins with `first`; what does not fit is indented, by `rest` at least.

        Where the text is a chain of parts, as in `a · b`, it is broken between them.
        """
        text = log_line(foreign, limit=limit)
        indent = rest or " " * cell_len(first)
        broken = self._broken(text, max(self.width - cell_len(indent), 20)) if self._wrap and text else [text]
        for number, part in enumerate(broken):
            whole = f"{indent if number else first}{part}"
            if self._color:
                self.console.print(Text(whole, style=style), soft_wrap=True)
            else:
                # a line that is not broken and has no style is printed as it is
                self._stream.write(f"{whole}\n")

    def _broken(self, text: str, room: int) -> list[str]:
        """Break a line at its joints, and parts that are too long for a line at their spaces."""
        lines: list[str] = []
        for part in text.split(JOINT):
            joined = f"{lines[-1]}{JOINT}{part}" if lines else part
            if cell_len(joined) <= room:
                lines[-1:] = [joined]
            else:
                lines += [piece.plain.rstrip() for piece in Text(part).wrap(self.console, room)]
        return lines

    def title(self, foreign: str) -> None:
        """Print the title of a part, below an empty line."""
        self.line()
        self.line(foreign, style="bold", limit=300)

    def bullets(self, lines: Sequence[str], *, most: int, elsewhere: str = "summary.md") -> None:
        """Print a list, and how many more there are elsewhere."""
        for text in lines[:most]:
            self.line(text, first="  - ", rest="    ", limit=400)
        if len(lines) > most:
            self.line(f"… and {len(lines) - most} more in {elsewhere}", first="  ")

    def table(self, head: Sequence[str], rows: Sequence[tuple[Sequence[str], str | None]]) -> None:
        """Print a table of rows with their styles, in which only names and words are broken."""
        if not rows:
            return
        table = Table(box=None, pad_edge=False, padding=(0, 2 if self.width >= ROOMY else 1, 0, 0))
        for place, name in enumerate(head):
            words = place == 0 or name in WORDS
            justify: JustifyMethod = "left" if words or name == "questions" else "right"
            table.add_column(name, justify=justify, overflow="fold", no_wrap=not words)
        for cells, style in rows:
            table.add_row(*(Text(log_line(cell, limit=120)) for cell in cells), style=style)
        self.console.print(table)


WORDS = frozenset(("metric", "status"))
"""Columns whose cells may be broken, beside the first."""
