"""One heading, as a file, a renderer or a splitter writes it -> whether two of them read the same.

The same heading is told with or without its inline markup, its id and its closing marks, in capitals, and in letters
that Unicode composes or not. None of that is seen by whoever reads it. What is seen stays: letters, digits, signs,
their order, and how far apart they are told from others that only look alike (`²` and `2`, `①` and `1`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import eq
from typing import TYPE_CHECKING, TypeVar

from raggate.text.stream_safe import stream_safe

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_TITLE = 1_000
"""Characters of a heading whose markup is looked at; a longer one reads as it is written."""

# `{#id}`, `{ #id .class }`, `{: #id}`, `{#id key="value"}`: as PHP Markdown Extra, kramdown, Pandoc and goldmark have
_VALUE = r"(?:\"[^\"{}]{0,200}\"|'[^'{}]{0,200}'|[^\s{}\"']{1,200})"
_ATTRIBUTE = rf"(?:[#.][^\s{{}}\"']{{1,200}}|[A-Za-z_:][\w:.-]{{0,99}}={_VALUE})"
ATTRIBUTE_LIST = rf"\{{:?[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE}){{0,19}}[ \t]*\}}"
"""An id, classes and attributes in braces, as a pattern; linear wherever it is looked for."""

_ATTRIBUTES = re.compile(rf"[ \t]*{ATTRIBUTE_LIST}$")
_CLOSING = re.compile(r"[ \t]#+$")
_MARKUP = re.compile(r"[*_`~\\<&\[!]")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]{0,500}\|)?([^\[\]|]{1,500})\]\]")
_HTML = frozenset(
    "a abbr b bdi bdo big br center cite code del dfn em font i img ins kbd mark q s samp small span strike strong sub "
    "sup tt u var wbr".split()
)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")

Same = Callable[[str, str], bool]
"""Whether two headings are one."""


_Found = TypeVar("_Found")


def same_title(first: str, second: str) -> bool:
    """Whether two headings, without their level marks, read the same, each as it is written or as it is rendered.

    Not transitive: what one heading is as it is written may be what another one is as it is rendered.
    """
    return same_letters(first, second) or not readings(first).isdisjoint(readings(second))


def same_bare(first: str, second: str) -> bool:
    """Return whether two headings are written alike but for ids and closing marks."""
    return without_attributes(first) == without_attributes(second)


def same_letters(first: str, second: str) -> bool:
    """Return whether they are so but for capitals too."""
    return _letters(first) == _letters(second)


def rule(*, as_read: bool) -> Same:
    """Return the rule by which headings of a run are compared: as people read them, or letter by letter."""
    return same_title if as_read else eq


CLOSENESS: tuple[Same, ...] = (eq, same_bare, same_letters, same_title)
"""When two headings are one, from the closest to the loosest: each holds wherever the one before it does."""


def closest(found_by: Callable[[Same], Sequence[_Found]]) -> Sequence[_Found]:
    """Return the finds of the closest rule that finds any; empty if none does."""
    return next(filter(None, map(found_by, CLOSENESS)), ())


@lru_cache(maxsize=8192)
def readings(title: str) -> frozenset[str]:
    """Return how a heading reads: as it stands, and as a renderer shows it. Empty for one without any text."""
    return frozenset(filter(None, (_letters(title), _caseless(rendered(without_attributes(title))))))


@lru_cache(maxsize=8192)
def _letters(title: str) -> str:
    return _caseless(without_attributes(title))


@lru_cache(maxsize=8192)
def without_attributes(title: str) -> str:
    """Drop what ends a heading and is not shown: an id and classes in braces, and closing marks."""
    text = " ".join(title.split())
    for pattern in (_CLOSING, _ATTRIBUTES, _CLOSING):
        # a heading that is nothing else is that
        text = pattern.sub("", text).rstrip() or text
    return text


def rendered(title: str) -> str:
    """Return the text of a heading as people see it: CommonMark's inline markup, ~~strikes~~ and [[wiki links]].

    Tags that HTML does not have are kept, as `Vec<T>` and `Vec<U>` are two headings.
    """
    if len(title) > MAX_TITLE or not _MARKUP.search(title):
        return title
    return "".join(_texts(_parser().parseInline(title)))


def _texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "text":
            yield _WIKI_LINK.sub(r"\1", token.content)
        elif token.type == "code_inline":
            yield token.content
        elif token.type in {"softbreak", "hardbreak"}:
            yield " "
        elif token.type == "html_inline":
            tag = _TAG.match(token.content)
            yield token.content if tag is not None and tag[1].lower() not in _HTML else ""
        # the alt text of an image stands in its children
        yield from _texts(token.children or [])


def _caseless(text: str) -> str:
    """Return letters without case, in Unicode's canonical form, with single spaces.

    Canonical, and not the compatibility form: that is for letters which look the same, and `m²` is not seen as `m2`.
    """
    if text.isascii():
        return " ".join(text.casefold().split())
    decomposed = unicodedata.normalize("NFD", stream_safe(text))
    return " ".join(unicodedata.normalize("NFC", stream_safe(decomposed.casefold())).split())


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("strikethrough")
