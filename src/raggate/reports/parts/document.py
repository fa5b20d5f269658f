"""Parts of a report, in plain text: what is said once here is set as Markdown, for a terminal and on a page.

Text in a part is as it came. Whoever sets a part makes its text harmless, all of it and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from raggate.base.escape import markdown as safe
from raggate.models.publication import Links
from raggate.reports.parts.markup import code_block, commit_address, folded, inert, is_commit, keyed, link, table

COMMENT_UNITS = 65_536
"""GitHub refuses a comment of more UTF-16 units."""

COMMENT_LIMIT = 62_000
"""What a comment may take: the rest is for marker lines, and for what GitHub may count otherwise."""

SMALLEST_LIMIT = 32_768
"""From here on every page fits with its verdict, its invariants, what broke and how to reproduce it."""

EACH_SUITE, SUITE_NAME = 30_000, 80
"""What one of several suites may take, and its name."""

SUMMARY_BYTES = 1 << 20
"""The runner drops the summary of a step that is larger."""

KEPT = 0
"""Rank of a part that is shortened, but never left out."""

ELSEWHERE = "in verdict.json"
"""Where the rest of a list is."""

_GAP = "\n\n"
_SHORT_ITEMS, _SHORT_WIDTH, _SHORT_PARAGRAPH = 3, 80, 300
_SHORT_LINES, _SHORT_LINE = 4, 300


class Span(Struct, frozen=True):
    """A piece of a line: foreign text, unless its style is `own`: a sentence with keys and commands in backticks.

    `target` is the address that it links to, if that is one of the repository's own; of `code`, which is raggate's own
    text, any address.
    """

    text: str
    style: Literal["", "bold", "soft", "own", "code"] = ""
    limit: int = 300
    target: str | None = None


Line = tuple[Span, ...]
Cell = str | Span | Line


def line(*pieces: str | Span) -> Line:
    """Make a line of texts and pieces; empty ones are left out."""
    spans = (piece if isinstance(piece, Span) else Span(piece, limit=500) for piece in pieces)
    return tuple(span for span in spans if span.text)


def bold(text: str, limit: int = 300) -> Span:
    """Make a piece that stands out."""
    return Span(text, "bold", limit)


def commit(name: str, links: Links | None) -> Span:
    """Make a commit of its first digits, linked to its page; what is no commit's name is foreign text."""
    if not is_commit(name):
        return Span(name, limit=12)
    return Span(name[:7], "code", target=commit_address(links, name))


class Paragraph(Struct, frozen=True):
    """Lines below each other; `soft` ones are in small print."""

    lines: tuple[Line, ...]
    soft: bool = False


class Bullets(Struct, frozen=True):
    """A list, each item of one line or several. Beyond `most` items it ends with their number."""

    items: Sequence[tuple[Line, ...]]
    most: int = 30


class Table(Struct, frozen=True):
    """Rows under the names of their columns, `numbers` to the right; of a `whole` table no row is left out."""

    head: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    numbers: tuple[str, ...] = ()
    most: int = 40
    whole: bool = False


class Command(Struct, frozen=True):
    """A command to copy."""

    text: str


class Alert(Struct, frozen=True):
    """The lines under the heading of a page."""

    kind: str
    lines: tuple[Line, ...]


Block = Paragraph | Bullets | Table | Command | Alert
_HOLDS = ("lines", "items", "rows", "text")


class Part(Struct, frozen=True, kw_only=True):
    """A part of a report; without a block that holds something it is not there.

    `name` is what the line at the end of a page calls it when it was shortened, `title` its heading or the line under
    which it is folded. Rank 0 (`KEPT`) is never left out; of the others the highest is shortened first.
    """

    name: str
    blocks: tuple[Block, ...]
    title: str = ""
    folded: bool = False
    rank: int = 5
    level: int = 3

    def __post_init__(self) -> None:
        held = (block for block in self.blocks if any(getattr(block, name, ()) for name in _HOLDS))
        force_setattr(self, "blocks", tuple(held))


def bulleted(lines: Sequence[str]) -> tuple[Block, ...]:
    """Return a list of plain sentences as blocks."""
    return (Bullets([(line(text),) for text in lines]),)


def page(
    parts: Sequence[Part], size: Callable[[str], int], limit: int, *, links: Links | None = None, elsewhere: str = ""
) -> str:
    """Set parts, in reading order, as Markdown of at most `limit`, shortening what matters least first.

    `size` is `utf16_units` or `utf8_bytes`. Below `SMALLEST_LIMIT` the kept parts alone may be larger. `elsewhere` is
    Markdown that says where the full report is.
    """
    present = [part for part in parts if part.blocks or part.level < 3]
    steps = [list(_steps(part, links)) for part in present]
    chosen = [0] * len(steps)
    note = ""

    def text() -> str:
        return _GAP.join(filter(None, [*(own[step] for own, step in zip(steps, chosen, strict=True)), note])) + "\n"

    # the least important first, and of equals the one that stands last
    for place in sorted(range(len(steps)), key=lambda place: (-present[place].rank, -place)):
        while chosen[place] + 1 < len(steps[place]) and size(text()) > limit:
            chosen[place] += 1
            names = dict.fromkeys(part.name for part, step in zip(present, chosen, strict=True) if step)
            where = f" The full report is {elsewhere}." if elsewhere else ""
            note = f"<sub>Shortened to fit: {', '.join(names)}.{where}</sub>"
    return text()


def with_folds(text: str, folds: Iterable[tuple[str, str]], size: Callable[[str], int], limit: int, more: str) -> str:
    """Put pages of Markdown below a page, each folded under its title; `more` stands for those that do not fit."""
    for title, body in folds:
        added = f"\n{folded(title, body.strip())}\n"
        if size(text) + size(added) > limit - size(more) - len(_GAP):
            return f"{text}\n{more}\n"
        text += added
    return text


def utf16_units(text: str) -> int:
    """Measure as GitHub measures a comment: characters beyond the basic plane count twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Measure as the runner measures a summary."""
    return len(text.encode("utf-8", "replace"))


def _steps(part: Part, links: Links | None) -> Iterator[str]:
    """Yield a part in full, then short, and at last nothing or, of a folded one, its title alone."""
    yield _set(part, links, short=False)
    yield _set(part, links, short=True)
    if part.rank != KEPT:
        if part.folded:
            yield f"<sub>{inert(part.title)}</sub>"
        yield ""


def _set(part: Part, links: Links | None, *, short: bool) -> str:
    body = _GAP.join(_block(block, links, short=short) for block in part.blocks)
    title = inert(part.title, limit=120) if part.title else ""
    if part.folded:
        return folded(title, body)
    return _GAP.join(filter(None, [f"{'#' * part.level} {title}" if title else "", body]))


def _block(block: Block, links: Links | None, *, short: bool) -> str:
    width = _SHORT_WIDTH if short else 1000
    if isinstance(block, Command):
        return code_block(block.text)
    if isinstance(block, Alert):
        kept, width = (block.lines[:_SHORT_LINES], _SHORT_LINE) if short else (block.lines, 2000)
        lines = [_line(own, links, width) for own in kept]
        return f"> [!{block.kind}]\n" + "<br>\n".join(f"> {own}" for own in lines)
    if isinstance(block, Paragraph):
        text = "<br>\n".join(_line(own, links, _SHORT_PARAGRAPH if short else 1000) for own in block.lines)
        return f"<sub>{text}</sub>" if block.soft else text
    most = min(block.most, _SHORT_ITEMS) if short else block.most
    if isinstance(block, Table):
        return _table(block, links, len(block.rows) if block.whole else most, width)
    items = [markdown_item(item[:2] if short else item, links, width) for item in block.items[:most]]
    left = len(block.items) - most
    return "\n".join([*items, *([f"- … and {left} more {ELSEWHERE}"] if left > 0 else [])])


def markdown_item(lines: Sequence[Line], links: Links | None = None, width: int = 1000) -> str:
    """Set an item of a list as Markdown."""
    return "- " + "<br>\n  ".join(_line(own, links, width) for own in lines)


def _table(block: Table, links: Links | None, most: int, width: int) -> str:
    rows = [
        [_cell(cell, links, width, number=name in block.numbers) for cell, name in zip(row, block.head, strict=True)]
        for row in block.rows[:most]
    ]
    left = len(block.rows) - most
    if left > 0:
        rows.append([f"… and {left} more {ELSEWHERE}", *[""] * (len(block.head) - 1)])
    head = {name: safe(name, limit=80) for name in block.head}
    return table([*head.values()], rows, numbers=[head[name] for name in block.numbers if name in head])


def _cell(cell: Cell, links: Links | None, width: int, *, number: bool) -> str:
    spans = (Span(cell, limit=120),) if isinstance(cell, str) else (cell,) if isinstance(cell, Span) else cell
    text = _line(spans, links, width)
    return text.replace(" ", "&nbsp;") if number else text


def _line(spans: Line, links: Links | None, width: int) -> str:
    return "".join(_span(span, links, width) for span in spans) or "–"


def _span(span: Span, links: Links | None, width: int) -> str:
    if span.style == "own":
        return keyed(span.text)
    if span.style == "code":
        address = (span.target or "").replace("&", "&amp;")
        return f"[`{span.text}`]({address})" if address else f"`{span.text}`"
    if span.text.isspace():
        return " "
    begins, ends = span.text[:1] == " ", span.text[-1:] == " "
    text = safe(span.text.strip(), limit=min(span.limit, width), middle=True) or "–"
    text = link(text, span.target, links)
    text = f"**{text}**" if span.style == "bold" else f"<sub>{text}</sub>" if span.style == "soft" else text
    return f"{' ' if begins else ''}{text}{' ' if ends else ''}"
