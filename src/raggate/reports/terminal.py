"""The verdict for a terminal or a CI log: what moved, which questions broke and why, and last what it comes to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from raggate.base import unicode
from raggate.base.escape import log_line
from raggate.base.quote import listed
from raggate.models.verdict import GatedMetric, Review
from raggate.reports.parts import (
    advice,
    document,
    evidence,
    formatting,
    header,
    metric_tables,
    questions,
    reasons,
)
from raggate.reports.parts.document import Block, Bullets, Cell, Command, Line, Paragraph, Part, Span, Table
from raggate.scoring import figures

JOINT = " · "

ROOMY = 100
"""Columns from which a table is set wide."""

Row = tuple[Sequence[str], str | None]
"""Cells of foreign text, and their style."""

_CODES = {"bold": "1", "italic": "3", "red": "31", "green": "32", "yellow": "33"}
_NARROWEST = 4  # of a column whose words are broken

SHOWN = 12
"""Items of a list, and rows of a table."""
SHOWN_QUESTIONS = 15
NORMAL = 76
"""Columns from which what is allowed has a column of its own."""
WIDE = 120
"""Columns from which a table has intervals."""
_VERDICT_STYLES = {"pass": "bold green", "regression": "bold red", "invariant broken": "bold red"}


class Screen:
    """What is printed, as a text of so many columns; without `wrap`, as for a log, no line is broken."""

    def __init__(self, *, width: int, color: bool, wrap: bool) -> None:
        self.width = width
        self._lines: list[str] = []
        self._color, self._wrap = color, wrap

    def text(self) -> str:
        """Return all that was printed."""
        return "".join(f"{line}\n" for line in self._lines)

    def line(self, foreign: str = "", *, style: str = "", first: str = "", rest: str = "", limit: int = 1000) -> None:
        """Print foreign text as one line that begins with `first`; the rest is indented, best after a ` · `."""
        text = log_line(foreign, limit=limit)
        indent = rest or " " * unicode.width(first)
        broken = self._broken(text, max(self.width - unicode.width(indent), 20)) if self._wrap and text else [text]
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
            if unicode.width(joined) <= room:
                lines[-1:] = [joined]
            else:
                lines += unicode.wrapped(part, room)
        return lines

    def part(self, part: Part, *, most: int = SHOWN, elsewhere: str = "summary.md") -> None:
        """Print a part of a report, with so many items of each list; the others are `elsewhere`."""
        if part.blocks:
            self.line()
            if part.title:
                self.line(part.title, style="bold", limit=300)
            for block in part.blocks:
                left = self._block(block, most)
                if left > 0:
                    self.line(f"… and {left} more in {elsewhere}", first="  ")

    def _block(self, block: Block, most: int) -> int:
        """Print a block; returns how many of its items are left out."""
        if isinstance(block, Command):
            self.command(block.text)
        elif isinstance(block, Table):
            shown = len(block.rows) if block.whole else most
            cells = [[_cell(cell) for cell in row] for row in block.rows[:shown]]
            # the colour of a row is that of its sign
            rows = [(row, {"❌": "red", "🔸": "yellow"}.get(row[0][:1])) for row in cells]
            words = [name for name in block.head if name not in block.numbers]
            self.table(block.head, rows, names=("questions",), words=words)
            return len(block.rows) - shown
        elif isinstance(block, Bullets):
            for first, *more in block.items[:most]:
                self.line(_text(first), first="  - ", rest="    ", limit=600)
                for own in more:
                    self.line(_text(own), first="      ", limit=600)
            return len(block.items) - most
        elif isinstance(block, Paragraph):
            for own in block.lines:
                self.line(_text(own), first="  ", limit=600)
        return 0

    def table(
        self, head: Sequence[str], rows: Sequence[Row], *, names: Collection[str] = (), words: Collection[str] = ()
    ) -> None:
        """Print rows with their styles; `names` and `words` begin at the left, and `words` are broken if too wide."""
        if not rows:
            return
        made = [([log_line(cell, limit=120) for cell in row], style or "") for row, style in ((head, "bold"), *rows)]
        gap = " " * (2 if self.width >= ROOMY else 1)
        room = self.width - len(gap) * (len(head) - 1)
        widths = _fitted(
            [max(map(unicode.width, column)) for column in zip(*(row for row, _ in made), strict=True)],
            [name in words for name in head],
            room,
        )
        for row, style in made:
            columns = [
                unicode.wrapped(cell, size) if name in words else [cell]
                for cell, size, name in zip(row, widths, head, strict=True)
            ]
            for number in range(max(map(len, columns))):
                parts = []
                for column, size, name in zip(columns, widths, head, strict=True):
                    cell = column[number] if number < len(column) else ""
                    blank = " " * (size - unicode.width(cell))
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


def _text(own: Line) -> str:
    return "".join(f"({span.text})" if span.style == "soft" else span.text for span in own)


def _cell(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text if isinstance(cell, Span) else _text(cell)


def render(review: Review, *, width: int, color: bool, wrap: bool = False) -> str:
    """Render a run, but for the API's log, for `width` columns; without `color` there are no escape codes at all."""
    screen = Screen(width=width, color=color, wrap=wrap)
    _head(review, screen)
    if formatting.undecided(review):
        screen.part(questions.what_broke(review))
        screen.line()
        screen.line(formatting.LEFT_OUT)
    else:
        _metrics(review, screen)
        if any(formatting.slice_rows(review.verdict.rows)):
            screen.part(metric_tables.slices(review))
        screen.part(questions.misses(review, None), most=SHOWN_QUESTIONS)
        _questions(review, screen)
    for part in (reasons.findings(review), header.why(review), header.warnings(review)):
        screen.part(part)
    _last(review, screen)
    return screen.text()


def _head(review: Review, screen: Screen) -> None:
    run = review.run
    asked = run.selection.sentence if run.selection is not None else run.golden.asked
    parts = ["raggate", f"suite {run.suite}", asked, ", ".join(review.scorecard.slices)]
    screen.line()
    screen.line(" · ".join(filter(None, parts)), style="bold")
    baseline = review.comparison.baseline
    lines = [formatting.operations_line(review.scorecard)]
    if baseline is not None:
        source = f"baseline {baseline.source} (run {baseline.scorecard.run_id or 'unknown'})"
        lines.append(f"{source}, {formatting.compared(review.comparison)}")
    if ignored := run.provenance.ignored:
        lines.append(f"judged by commit {str(run.provenance.against)[:12]}, not by your {listed(ignored, 8)}")
    for text in filter(None, (*lines, *evidence.judging_sentences(run))):
        screen.line(text, limit=500)


def _metrics(review: Review, screen: Screen) -> None:
    several = review.scorecard.several_modes
    rows = [row for row in formatting.main_rows(review.verdict.rows) if row.status != "same"]
    if rows:
        table = metric_tables.metric_table(rows, _columns(rows, screen.width), several=several)
        screen.part(Part(name="", blocks=(table,)), most=len(rows))
    elif not review.verdict.rows and reasons.greeted(review):
        screen.part(metric_tables.measured(review), most=100)
    calm = [row for row in formatting.main_rows(review.verdict.rows) if row.status == "same"]
    names = [f"{metric_tables.name_of(row.delta, several=several)} {figures.course(row.delta)}" for row in calm]
    sentences = [f"Unchanged ({len(names)}): {', '.join(names)}"] if names else []
    sentences += evidence.lines_of(review) if review.verdict.rows or reasons.greeted(review) else []
    if sentences:
        screen.line()
    for text in sentences:
        screen.line(text, limit=600)


def _columns(rows: Sequence[GatedMetric], width: int) -> tuple[str, ...]:
    """Return as many columns as there is room for; a part of the questions has no tolerances."""
    limits = any(row.allowed is not None for row in rows) and width >= NORMAL
    left = {*(() if limits else ("allowed",)), *(() if width >= WIDE else ("95%",))}
    return tuple(name for name in metric_tables.EVERYTHING if name not in left)


def _questions(review: Review, screen: Screen) -> None:
    broke, fixed = review.comparison.broke, review.comparison.fixed
    red = [flip for flip in review.fallen if review.verdict.is_red(flip)]
    screen.part(Part(name="", title="Changed as a whole", blocks=document.bulleted(reasons.changes(review))))
    for title, flips in ((formatting.title("broke", broke), broke), (formatting.fallen_title(review.fallen), red)):
        if flips:
            blocks = questions.by_cause(flips, lambda flip: questions.item(flip, review), SHOWN_QUESTIONS)
            screen.part(Part(name="", title=title, blocks=blocks), most=SHOWN_QUESTIONS)
    if fixed:
        screen.line()
        screen.line(f"{formatting.title('were fixed', fixed)}: {listed([flip.case_id for flip in fixed], SHOWN)}")


def _last(review: Review, screen: Screen) -> None:
    """Print what it comes to: what is read first, as it stands last."""
    verdict = review.verdict
    style = _VERDICT_STYLES.get(verdict.outcome, "bold yellow")
    screen.line()
    if review.lowers:
        screen.line(formatting.promotion_note(review), limit=600)
        screen.line()
    for reason in reasons.merging(review):
        screen.line(reasons.sentence(reason), first="⛔ ", style="bold red")
    for text in header.number_lines(review):
        screen.line(text, style="bold")
    for number, own in enumerate(header.verdict_lines(review)):
        # the first is the cause, or the verdict where none is known
        screen.line(_text(own), limit=1200, style=style if number == 0 else "")
    if review.context.dependencies:
        screen.line(" ".join(reasons.beside(review)), limit=600)
    if reasons.greeted(review):
        # how this run is promoted is printed below, with its directory
        for step in advice.first_steps(review)[:-1]:
            screen.line(step, first="Next: ")
    elif step := advice.next_step(review):
        screen.line(step, first="Next: ", style="bold")
        if command := advice.command(review):
            screen.command(command)
    screen.line(f"verdict: {verdict.outcome} (exit {verdict.exit_code})", style=style)
