"""Markdown notes -> the heading paths and the text that gold supports may name."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from raggate.text.headings import Elements, closest, elements, fold, is_path

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_TITLE = 1_000
"""Characters of a heading as it is written that are looked at."""

_LINE_ENDING = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"\A---[ \t]*(?:\r\n?|\n).*?(?:\r\n?|\n)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)
_INLINE = re.compile(r"[\\`*_~\[\]!<>&\n]")
"""What CommonMark's inline rules begin at; a heading without any is shown as it is written."""
_MARKUP = re.compile(r"[*_`~\\]|\[\[|\]\]")


Form = Literal["rendered", "entities", "source"]
"""How a heading is taken: as it is shown; so but with entities and escapes as they are written; or as it is written."""


_Mark = tuple[int, int, Elements, tuple[int, ...]]
"""A heading: its level, its line, its path, and the levels of that."""


class Section(NamedTuple):
    """A heading path and the lines that are filed under it, subsections included: from `begin`, from 0, to `end`.

    `levels` are those of the headings; none where it is not filed under a heading.
    """

    path: Elements
    begin: int
    end: int
    levels: tuple[int, ...] = ()


def heading_paths(text: str, rel_path: str) -> frozenset[Elements]:
    """Return every heading path of a note, outermost heading first; see `sections`."""
    return frozenset(section.path for section in sections(text, rel_path))


def sections(text: str, rel_path: str, *, source: bool = False) -> frozenset[Section]:
    """Return every section of a note; with `source`, also by its headings letter by letter.

    Text before the first heading is filed by an API under the note's title: its first heading of level 1, else of
    level 2, else the file's name, as it is or with capitals. Front matter is read both ways, skipped and as CommonMark
    reads it (a setext heading), because APIs do either; and so are titles, as rendered and as they are written.
    """
    last = len(lines_of(text))
    titled = _titled(text, ("rendered", "entities", "source") if source else ("rendered", "entities"))
    result = titled["rendered"] | titled["entities"]
    stem = PurePosixPath(rel_path).stem
    capitals = " ".join(word[:1].upper() + word[1:] for word in stem.split())
    paths = {section.path for section in result}
    # some file all of a note under its name
    names = {(stem,), (fold(capitals),)} - paths
    return frozenset(result.union((Section(path, 0, last) for path in names), titled.get("source", ())))


def _titled(text: str, forms: Collection[Form]) -> dict[Form, set[Section]]:
    """Return the sections of a note that have a heading, by each form of it, and what stands before the first one."""
    result: dict[Form, set[Section]] = {form: set() for form in forms}
    front_matter = _FRONT_MATTER.match(text)
    last = len(lines_of(text))
    for start in {0, front_matter.end()} if front_matter else {0}:
        # the environment carries the link definitions from the blocks to the headings
        environment: dict[str, Any] = {}
        tokens = _block_parser().parse(text[start:], environment)
        for form in forms:
            marks = _headings(tokens, environment, len(lines_of(text[:start])) - 1, form)
            result[form].update(_bounded(marks, last), _before(marks))
    return result


def line_of(text: str, heading_path: str | None) -> int:
    """Return the line, from 1, of the heading at which a section starts; 1 for a whole note or an unknown heading."""
    if heading_path is None:
        return 1
    wanted = elements(heading_path)

    front_matter = _FRONT_MATTER.match(text)
    skipped = front_matter.end() if front_matter else 0
    offset = len(lines_of(text[:skipped])) - 1
    environment: dict[str, Any] = {}
    marks = _headings(_block_parser().parse(text[skipped:], environment), environment, offset, "rendered")
    lines = closest(lambda same: [line for _, line, path, _ in marks if is_path(wanted, path, same)])
    return lines[0] + 1 if lines else 1


def front_matter_of(text: str) -> str:
    """Return what stands between the dashes before a note, empty where nothing does."""
    front_matter = _FRONT_MATTER.match(text)
    return "\n".join(lines_of(front_matter[0].rstrip())[1:-1]) if front_matter else ""


def headings_with_text(text: str) -> Iterator[Elements]:
    """Yield the path of every heading with text of its own below it, as it is rendered."""
    front_matter = _FRONT_MATTER.match(text)
    body = text[front_matter.end() :] if front_matter else text
    environment: dict[str, Any] = {}
    lines = lines_of(body)
    marks = _headings(_block_parser().parse(body, environment), environment, 0, "rendered")
    ends = [*(line for _, line, *_ in marks[1:]), len(lines)]
    for (_, line, path, _), end in zip(marks, ends, strict=False):
        if path and any(re.search(r"\w", row) for row in lines[line + 1 : end]):
            yield path


def holds(text: str, snippet: str) -> bool:
    """Return whether a snippet stands in a note, with or without its markup, ignoring case and white space."""
    wanted = fold(snippet).casefold()
    source = fold(text).casefold()
    return wanted in source or _bare(wanted) in _bare(source)


def _bare(text: str) -> str:
    return fold(_MARKUP.sub("", text))


def lines_of(text: str) -> list[str]:
    """Split a note into its lines as CommonMark does."""
    return _LINE_ENDING.split(text) if "\r" in text else text.split("\n")


def line_with(text: str, snippet: str) -> int:
    """Return the line, from 1, at which a snippet begins that stands in a note; the first where there are several."""
    lines = lines_of(text)
    end = bisect_left(range(len(lines)), x=True, key=lambda last: holds("\n".join(lines[: last + 1]), snippet)) + 1
    # counted from the end, so that it grows
    length = bisect_left(range(end), x=True, key=lambda size: holds("\n".join(lines[end - 1 - size : end]), snippet))
    return end - length


def _headings(tokens: Sequence[Token], environment: dict[str, Any], offset: int, form: Form) -> list[_Mark]:
    marks: list[_Mark] = []
    stack: list[tuple[int, str]] = []
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        level = int(opening.tag[1:])
        while stack and stack[-1][0] >= level:
            stack.pop()
        # what takes the parser long is a long line, and no gold support names a title of such a length
        stack.append((level, _title(inline.content[:MAX_TITLE], environment, form)))
        line = opening.map[0] if opening.map else 0
        levels, path = tuple(zip(*(entry for entry in stack if entry[1]), strict=True)) or ((), ())
        marks.append((level, line + offset, path, levels))
    return marks


def _title(source: str, environment: dict[str, Any], form: Form) -> str:
    if form == "source" or not _INLINE.search(source):
        return fold(source)
    return fold(_text(_parser().parseInline(source, environment)[0], raw=form == "entities"))


def _bounded(marks: Sequence[_Mark], last: int) -> Iterator[Section]:
    """End each section where the next one of its level or above begins."""
    ends = [last] * 7
    for level, line, path, levels in reversed(marks):
        yield Section(path, line, min(ends[: level + 1]), levels)
        ends[level] = line


def _before(marks: Sequence[_Mark]) -> Iterator[Section]:
    """File what stands before the first heading under the title."""
    titles = [(path, levels) for wanted in (1, 2) for level, _, path, levels in marks if level == wanted]
    if titles:
        yield Section(titles[0][0], 0, marks[0][1], titles[0][1])


def _text(token: Token, *, raw: bool) -> str:
    # alt text of an image stands in its children, everything else in content
    if token.children:
        return "".join(_text(child, raw=raw) for child in token.children)
    if token.type in {"softbreak", "hardbreak"}:
        # some APIs glue the lines of a heading
        return "" if raw else " "
    if token.type == "text_special":
        # an entity or an escaped character: `&amp;` for `&`
        return token.markup if raw else token.content
    return token.content if token.type in {"text", "code_inline"} else ""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # joining would lose how an entity is written
    return MarkdownIt("commonmark").disable("text_join")


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # only the text of headings is needed, which is a small part of what the inline rules would go through
    return MarkdownIt("commonmark").disable(["inline", "text_join"])
