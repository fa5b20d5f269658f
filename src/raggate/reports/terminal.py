"""The verdict for a terminal or a CI log: what moved, which questions broke and why, and last what it comes to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from raggate.models.comparison import Flip
from raggate.models.verdict import GatedMetric, Reason, Review
from raggate.reports.parts import advice, evidence, formatting, header, metric_tables, questions, reasons
from raggate.scoring import figures
from raggate.text import unicode
from raggate.text.escape import log_line
from raggate.text.numbers import counted

JOINT = " · "

ROOMY = 100
"""Columns from which a table is set wide."""

Row = tuple[Sequence[str], str | None]
"""Cells of foreign text, and their style."""

_CODES = {"bold": "1", "italic": "3", "red": "31", "green": "32", "yellow": "33"}
_NARROWEST = 4  # of a column whose words are broken


SHOWN_FLIPS = 15
SHOWN_SLICES = 10
SHOWN_REASONS = 12
SHOWN_UNDECIDED = 3
"""Questions that are named where there is no verdict."""
NORMAL = 76
"""Columns from which what is allowed has a column of its own."""
WIDE = 120
"""Columns from which a table has intervals."""
_STYLES = {"worse": "red", "below floor": "red", "vanished": "red", "better": "green"}
_VERDICT_STYLES = {"pass": "bold green", "regression": "bold red", "invariant broken": "bold red"}


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


def render(review: Review, *, width: int, color: bool, wrap: bool = False) -> str:
    """Render a run for a console of `width` columns; without `color` there are no escape codes at all.

    The API's log is not part of it: whoever prints that keeps the runner from reading commands in it. With `wrap` long
    lines are broken with hanging indents, for a person; a log is left to break them itself.
    """
    screen = Screen(width=width, color=color, wrap=wrap)
    _head(review, screen)
    if formatting.undecided(review):
        _questions(review, screen, most=0 if review.run.stopped is not None else SHOWN_UNDECIDED)
        screen.line()
        screen.line(formatting.left_out(review))
    else:
        _metrics(review, screen)
        _slices(review, screen)
        _misses(review, screen)
        _changed(review, screen)
        _questions(review, screen)
    _invariants(review, screen)
    title = "Why" if review.verdict.outcome in advice.RED else "Also"
    _reasons(title, [*reasons.further_reasons(review)], screen)
    _reasons("Warnings", reasons.further_warnings(review), screen)
    _last(review, screen)
    return screen.text()


def _reasons(title: str, listed: Sequence[Reason], screen: Screen) -> None:
    if listed:
        screen.title(f"{title} ({len(listed)})" if len(listed) > 1 else title)
        screen.bullets([reason.message for reason in listed], most=SHOWN_REASONS)


def _head(review: Review, screen: Screen) -> None:
    run = review.run
    asked = run.selection.sentence if run.selection is not None else run.golden.asked
    parts = ["raggate", f"suite {run.suite}", asked, ", ".join(review.scorecard.slices)]
    screen.line()
    screen.line(" · ".join(filter(None, parts)), style="bold")
    if review.scorecard.operations is not None:
        screen.line(formatting.operations_line(review.scorecard))
    baseline = review.comparison.baseline
    if baseline is not None:
        source = f"baseline {baseline.source} (run {baseline.scorecard.run_id or 'unknown'})"
        screen.line(f"{source}, {formatting.compared(review.comparison)}")
    ignored = review.run.provenance.ignored
    if ignored:
        note = f"judged by commit {str(review.run.provenance.against)[:12]}; not used: {', '.join(ignored)}"
        screen.line(note, limit=300)
    for line in evidence.judging_sentences(run):
        screen.line(line, limit=500)


def _metrics(review: Review, screen: Screen) -> None:
    several = review.scorecard.several_modes
    if not review.verdict.rows:
        measured = formatting.measured(review.scorecard) if reasons.greeted(review) else []
        rows = [
            ((_named(metric, mode, several=several), figures.measured(metric, value), str(value.n)), None)
            for mode, metric, value in measured
        ]
        _table(screen, ("metric", "value", "questions"), rows)
        if rows:
            _evidence(review, screen)
        return
    main = formatting.main_rows(review.verdict.rows)
    wide = ["95%"] if screen.width >= WIDE else []
    moved = [row for row in main if row.status != "same"]
    # a part of the questions has no tolerances
    limits = any(row.allowed is not None for row in moved)
    allowed = ["allowed"] if screen.width >= NORMAL and limits else []
    head = ("metric", "change", "baseline → now", "questions", *allowed, "status", *wide)
    _table(screen, head, [(_cells(row, head, several=several), _style(row)) for row in moved])
    _unmoved([row for row in main if row.status == "same"], screen, several=several)
    _evidence(review, screen)


def _evidence(review: Review, screen: Screen) -> None:
    sentences = [*metric_tables.beside(review), *evidence.lines_of(review)]
    if sentences:
        screen.line()
    for line in sentences:
        screen.line(line, limit=600)


def _unmoved(rows: Sequence[GatedMetric], screen: Screen, *, several: bool) -> None:
    """Give the values that are as they were in a line; one of them may stand for other questions than before."""
    named = []
    for row in rows:
        moves = f" ({figures.moves(row.delta)})" if figures.moves(row.delta) else ""
        named.append(f"{metric_tables.name_of(row.delta, several=several)} {figures.course(row.delta)}{moves}")
    if named:
        screen.line()
        screen.line(f"Unchanged ({len(named)}): {', '.join(named)}")


def _table(screen: Screen, head: Sequence[str], rows: Sequence[Row]) -> None:
    if rows:
        screen.line()
        _set(screen, head, rows)


def _set(screen: Screen, head: Sequence[str], rows: Sequence[Row]) -> None:
    """Print a table, in which only names and words are broken."""
    screen.table(head, rows, names=("questions",), words=(head[0], "metric", "status"))


def _cells(row: GatedMetric, head: Sequence[str], *, several: bool) -> list[str]:
    delta, status, allowed = row.delta, formatting.status(row), figures.allowed(row)
    cells = {
        "metric": _named(delta.metric, delta.mode, several=several),
        "change": figures.change(delta),
        "baseline → now": figures.course(delta),
        "questions": figures.moved(delta),
        "allowed": allowed,
        "status": status if "allowed" in head or row.allowed is None else f"{status} ({allowed})",
        "95%": figures.interval(delta),
    }
    return [cells[name] for name in head]


def _named(metric: str, mode: str, *, several: bool) -> str:
    return f"{figures.title(metric)} ({mode})" if several else figures.title(metric)


def _style(row: GatedMetric) -> str | None:
    """Return the colour of a row; one that a waiver excuses is not shown as a cause."""
    return "yellow" if row.waived or row.unproven else _STYLES.get(row.status)


def _slices(review: Review, screen: Screen) -> None:
    """Show each slice that got worse by its worst metric."""
    several = review.scorecard.several_modes
    groups: dict[tuple[str, str], list[GatedMetric]] = {}
    for row in formatting.slice_rows(review.verdict.rows):
        groups.setdefault((row.delta.mode, row.delta.slice), []).append(row)
    if not groups:
        return
    screen.title(f"Slices that got worse ({len(groups)})")
    rows = [(_slice_cells(same, several=several), _style(same[0])) for same in groups.values()]
    _set(screen, ("slice", "metric", "change", "baseline → now", "questions"), rows[:SHOWN_SLICES])
    if len(rows) > SHOWN_SLICES:
        screen.line(f"… and {len(rows) - SHOWN_SLICES} more in summary.md", first="  ")


def _slice_cells(rows: Sequence[GatedMetric], *, several: bool) -> list[str]:
    delta = rows[0].delta
    name = f"{delta.slice} ({delta.mode})" if several else delta.slice
    more = f", +{counted(len(rows) - 1, 'metric')}" if len(rows) > 1 else ""
    metric = f"{figures.title(delta.metric)}{more}"
    return [name, metric, figures.change(delta), figures.course(delta), figures.moved(delta)]


def _changed(review: Review, screen: Screen) -> None:
    if changes := reasons.changes(review):
        screen.title("Changed as a whole")
        screen.bullets(changes, most=SHOWN_REASONS)


def _misses(review: Review, screen: Screen) -> None:
    if not review.misses:
        return
    screen.title(questions.misses_title(review))
    for line in questions.misses_lines(review):
        screen.line(line, first="  ", limit=500)
    most = SHOWN_FLIPS if reasons.greeted(review) or review.comparison.baseline is not None else SHOWN_UNDECIDED
    for flip in review.misses[:most]:
        _flip(flip, review, screen)
    if len(review.misses) > most:
        screen.line(f"… and {len(review.misses) - most} more in summary.md", first="  ")


def _questions(review: Review, screen: Screen, most: int = SHOWN_FLIPS) -> None:
    broke, fixed = review.comparison.broke, review.comparison.fixed
    fallen = () if formatting.undecided(review) else review.fallen
    # those that make it red stand first; the others are counted, and told in the file alone
    red = sum(map(review.verdict.is_red, fallen))
    place = "verdict.json" if formatting.undecided(review) else "summary.md"
    groups = (
        (formatting.broke_title(broke), broke, most),
        (formatting.fallen_title(fallen), fallen, red),
    )
    for title, flips, named in groups:
        if count := min(named, most, len(flips)):
            screen.title(title)
            _by_cause(flips, review, screen, count)
            if len(flips) > count:
                screen.line(f"… and {len(flips) - count} more in {place}", first="  ")
    if fixed and not formatting.undecided(review):
        several = review.scorecard.several_modes
        shown = (f"{flip.case_id} ({flip.mode})" if several else flip.case_id for flip in fixed[:SHOWN_FLIPS])
        names = ", ".join(shown) + (", …" if len(fixed) > SHOWN_FLIPS else "")
        screen.line()
        screen.line(f"{formatting.fixed_title(fixed)}: {names}")


def _by_cause(flips: Sequence[Flip], review: Review, screen: Screen, most: int) -> None:
    totals = {cause: len(same) for cause, same in reasons.grouped(flips).items()}
    for cause, same in reasons.grouped(flips[:most]).items():
        total = totals[cause]
        count = f"{len(same)} of {total}" if len(same) < total else str(total)
        screen.line()
        screen.line(f"{cause[:1].upper()}{cause[1:]} ({count})", first="  ", style="italic")
        for flip in same:
            _flip(flip, review, screen)


def _flip(flip: Flip, review: Review, screen: Screen) -> None:
    absent = flip.kind == "absent"
    mode = f" ({flip.mode})" if review.scorecard.several_modes else ""
    must = (", must pass" if flip.must_pass else "") + (", waived" if flip.waived else "")
    screen.line(f"{flip.case_id}{mode}{must}: {questions.rank_change(flip)}", first="  - ", rest="      ")
    parts = (
        ("asked", flip.question),
        ("expected", flip.gold),
        ("why", flip.why if absent else _bare(reasons.remaining(flip))),
        ("instead", reasons.instead(flip)),
        ("trace", questions.trace_address(review, flip.trace_id) or flip.trace_id or ""),
    )
    for label, text in parts:
        if text:
            screen.line(text, first=f"      {f'{label}:':<10}", rest=" " * 16)


def _bare(text: str) -> str:
    """Take the brackets off the API's own words, where nothing stands before them."""
    whole = text.startswith("(") and text.endswith(")") and text.count("(") == 1
    return text[1:-1] if whole else text


def _invariants(review: Review, screen: Screen) -> None:
    if review.findings:
        screen.title(f"Invariants not met ({len(review.findings)})")
    for finding in review.findings:
        kind = reasons.kind(finding)
        screen.line(f"{finding.invariant} ({kind}): {finding.message}", first="  - ", rest="    ", limit=400)
        for example in finding.examples[:SHOWN_UNDECIDED]:
            screen.line(example, first="      ", limit=400)
        screen.line(reasons.repair(finding), first="      do: ", rest=" " * 10, limit=400)


def _last(review: Review, screen: Screen) -> None:
    """Print what it comes to: what is read first, as it stands last."""
    verdict = review.verdict
    style = _VERDICT_STYLES.get(verdict.outcome, "bold yellow")
    if review.lowers:
        screen.line()
        screen.line(formatting.promotion_note(review), limit=600)
    screen.line()
    for reason in reasons.merging(review):
        screen.line(reasons.sentence(reason), first="⛔ ", style="bold red")
    for line in header.number_lines(review):
        screen.line(line, style="bold")
    cause = reasons.first_cause(review)
    headline = verdict.headline if cause is None else reasons.sentence(cause)
    sign = "⛔ " if formatting.breaks_alone(review) else ""
    screen.line(" ".join(filter(None, (headline, reasons.likely(review)))), first=sign)
    _next(review, screen)
    screen.line(f"verdict: {verdict.outcome} (exit {verdict.exit_code})", style=style)


def _next(review: Review, screen: Screen) -> None:
    """Print what to do next, and the command for it, which is never broken."""
    if reasons.greeted(review):
        # how this run is promoted is printed below, with its directory
        for step in advice.first_steps(review)[:-1]:
            screen.line(step, first="Next: ")
        return
    command = review.run.provenance.reproduce
    if step := advice.next_step(review):
        screen.line(step, first="Next: ")
        if command:
            screen.command(command)
