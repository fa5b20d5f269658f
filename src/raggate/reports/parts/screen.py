"""Lines for a terminal: wrapped with hanging indents where a person reads them, left whole for a log."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from raggate.text import cells
from raggate.text.escape import log_line

JOINT = " · "

ROOMY = 100
"""Columns from which a table is set wide."""

Row = tuple[Sequence[str], str | None]
"""Cells of foreign text, and their style."""

_CODES = {"bold": "1", "italic": "3", "red": "31", "green": "32", "yellow": "33"}
_NARROWEST = 4  # of a column whose words are broken


class Screen:
    """What is printed, as a text.

    Args:
        width: columns.
        color: whether there are escape codes.
        wrap: whether lines are broken at the width; a log breaks them itself, and is searched line by line.
    """

    def __init__(self, *, width: int, color: bool, wrap: bool) -> None:
        self.width = width
        self._lines: list[str] = []
        self._color, self._wrap = color, wrap

    def text(self) -> str:
        """Return all that was printed."""
        return "".join(f"{line}\n" for line in self._lines)

    def line(self, foreign: str = "", *, style: str = "", first: str = "", rest: str = "", limit: int = 1000) -> None:
        """Print foreign text as one line, which begins with `first`; what does not fit is indented, by `rest` at least.

        Where the text is a chain of parts, as in `a · b`, it is broken between them.
        """
        text = log_line(foreign, limit=limit)
        indent = rest or " " * cells.width(first)
        broken = self._broken(text, max(self.width - cells.width(indent), 20)) if self._wrap and text else [text]
        for number, part in enumerate(broken):
            self._print(f"{indent if number else first}{part}", style)

    def command(self, foreign: str) -> None:
        """Print a command to copy, which is never broken."""
        self._print(f"      {log_line(foreign)}", "")

    def _print(self, line: str, style: str) -> None:
        codes = ";".join(_CODES[name] for name in style.split()) if self._color else ""
        self._lines.append(f"\x1b[{codes}m{line}\x1b[0m" if codes and line else line)

    def _broken(self, text: str, room: int) -> list[str]:
        """Break a line at its joints, and parts that are too long for a line at their spaces."""
        lines: list[str] = []
        for part in text.split(JOINT):
            joined = f"{lines[-1]}{JOINT}{part}" if lines else part
            if cells.width(joined) <= room:
                lines[-1:] = [joined]
            else:
                lines += cells.wrapped(part, room)
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

    def table(
        self, head: Sequence[str], rows: Sequence[Row], *, names: Collection[str] = (), words: Collection[str] = ()
    ) -> None:
        """Print a table of rows with their styles.

        Args:
            names: columns that begin at the left, as words do; the others are numbers.
            words: columns whose cells are broken if the table is too wide.
        """
        if not rows:
            return
        made = [([log_line(cell, limit=120) for cell in row], style or "") for row, style in ((head, "bold"), *rows)]
        gap = " " * (2 if self.width >= ROOMY else 1)
        room = self.width - len(gap) * (len(head) - 1)
        widths = _fitted(
            [max(map(cells.width, column)) for column in zip(*(row for row, _ in made), strict=True)],
            [name in words for name in head],
            room,
        )
        for row, style in made:
            columns = [
                cells.wrapped(cell, size) if name in words else [cell]
                for cell, size, name in zip(row, widths, head, strict=True)
            ]
            for number in range(max(map(len, columns))):
                parts = []
                for column, size, name in zip(columns, widths, head, strict=True):
                    cell = column[number] if number < len(column) else ""
                    blank = " " * (size - cells.width(cell))
                    parts.append(cell + blank if name in names or name in words else blank + cell)
                self._print(gap.join(parts).rstrip(), style)


def _fitted(widths: list[int], narrowed: Sequence[bool], room: int) -> list[int]:
    """Narrow the widest of some columns until all fit."""
    while sum(widths) > room:
        widest = max(size if may else 0 for size, may in zip(widths, narrowed, strict=True))
        if widest <= _NARROWEST:
            break
        place = next(n for n, may in enumerate(narrowed) if may and widths[n] == widest)
        widths[place] -= 1
    return widths
