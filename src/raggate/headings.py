"""Markdown notes -> the heading paths and the text that gold supports may name."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from raggate.anchors import Elements, fold

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKUP = re.compile(r"[*_`~\\]|\[\[|\]\]")


def heading_paths(text: str, rel_path: str) -> frozenset[Elements]:
    """Give every heading path of a note, outermost heading first.

    Text before the first heading is filed by an API under the note's title: its first heading of level 1, else of
    level 2, else the file's name, as it is or with capitals. Front matter is read both ways, skipped and as CommonMark
    reads it (a setext heading), because APIs do either.
    """
    found = _paths(text)
    front_matter = _FRONT_MATTER.match(text)
    if front_matter:
        found |= _paths(text[front_matter.end() :])
    stem = PurePosixPath(rel_path).stem
    capitals = " ".join(word[:1].upper() + word[1:] for word in stem.split())
    return frozenset(found | {(stem,), (fold(capitals),)})


def holds(text: str, snippet: str) -> bool:
    """Say whether a snippet stands in a note, with or without its markup, ignoring case and white space."""
    wanted = fold(snippet).casefold()
    source = fold(text).casefold()
    return wanted in source or _bare(wanted) in _bare(source)


def _bare(text: str) -> str:
    return fold(_MARKUP.sub("", text))


def _paths(text: str) -> set[Elements]:
    paths: set[Elements] = set()
    stack: list[tuple[int, str]] = []
    tokens = _parser().parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        level = int(opening.tag[1:])
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, fold(_text(inline))))
        paths.add(tuple(title for _, title in stack if title))
    return paths


def _text(inline: Token) -> str:
    # alt text of an image stands in its children, everything else in content
    return "".join(
        _text(child) if child.children else " " if child.type in {"softbreak", "hardbreak"} else _content(child)
        for child in inline.children or ()
    )


def _content(token: Token) -> str:
    return token.content if token.type in {"text", "code_inline", "text_special"} else ""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")
