"""Markdown notes -> the heading paths and the text that gold supports may name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from raggate.anchors import Elements, elements, fold

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_TITLE = 1_000
"""Characters of a heading as it is written that are looked at."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKUP = re.compile(r"[*_`~\\]|\[\[|\]\]")


def heading_paths(text: str, rel_path: str) -> frozenset[Elements]:
    """Give every heading path of a note, outermost heading first.

    Text before the first heading is filed by an API under the note's title: its first heading of level 1, else of
    level 2, else the file's name, as it is or with capitals. Front matter is read both ways, skipped and as CommonMark
    reads it (a setext heading), because APIs do either; and so are titles, as rendered and as they are written.
    """
    found: set[Elements] = set()
    front_matter = _FRONT_MATTER.match(text)
    for body in {text, text[front_matter.end() :]} if front_matter else {text}:
        # the environment carries the link definitions from the blocks to the headings
        environment: dict[str, Any] = {}
        tokens = _block_parser().parse(body, environment)
        found |= _paths(tokens, environment, raw=False) | _paths(tokens, environment, raw=True)
    stem = PurePosixPath(rel_path).stem
    capitals = " ".join(word[:1].upper() + word[1:] for word in stem.split())
    return frozenset(found | {(stem,), (fold(capitals),)})


def line_of(text: str, heading_path: str | None) -> int:
    """Give the line, from 1, of the heading at which a section starts; 1 for a whole note or an unknown heading."""
    if heading_path is None:
        return 1
    wanted = elements(heading_path)
    front_matter = _FRONT_MATTER.match(text)
    skipped = front_matter.end() if front_matter else 0
    offset = text.count("\n", 0, skipped)
    environment: dict[str, Any] = {}
    stack: list[tuple[int, str]] = []
    for opening, inline in pairwise(_block_parser().parse(text[skipped:], environment)):
        if opening.type != "heading_open":
            continue
        _enter(stack, int(opening.tag[1:]), inline.content, environment, raw=False)
        if tuple(title for _, title in stack if title) == wanted and opening.map:
            return offset + opening.map[0] + 1
    return 1


def holds(text: str, snippet: str) -> bool:
    """Say whether a snippet stands in a note, with or without its markup, ignoring case and white space."""
    wanted = fold(snippet).casefold()
    source = fold(text).casefold()
    return wanted in source or _bare(wanted) in _bare(source)


def _bare(text: str) -> str:
    return fold(_MARKUP.sub("", text))


def _paths(tokens: Sequence[Token], environment: dict[str, Any], *, raw: bool) -> set[Elements]:
    paths: set[Elements] = set()
    stack: list[tuple[int, str]] = []
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        _enter(stack, int(opening.tag[1:]), inline.content, environment, raw=raw)
        paths.add(tuple(title for _, title in stack if title))
    return paths


def _enter(stack: list[tuple[int, str]], level: int, content: str, environment: dict[str, Any], *, raw: bool) -> None:
    """Leave the sections that a heading ends, and enter its own."""
    while stack and stack[-1][0] >= level:
        stack.pop()
    # what takes the parser long is a long line, and no gold support names a title of such a length
    title = _parser().parseInline(content[:MAX_TITLE], environment)[0]
    stack.append((level, fold(_text(title, raw=raw))))


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
