"""Headings and places in a vault: how they are written, how they read, and when two of them are one.

A heading reads the same with or without its inline markup, its id and its closing marks, in capitals, and in letters
that Unicode composes or not. Signs that only look alike stay apart (`²` and `2`).

Heading paths are written `# H1 > ## H2`. They are compared heading by heading, so that `# Summary` covers
`# Summary > ## Costs` but not `# Summary of X`. Levels do not count, only the order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import eq
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from raggate.base.unicode import stream_safe

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


Elements = tuple[str, ...]

_MARKED_DELIMITER = re.compile(r"\s*>\s*(?=#{1,6}(?:\s|$))")
_ANY_DELIMITER = re.compile(r"\s*>\s*")
_LEVEL_MARK = re.compile(r"^#{1,6}(?:\s+|$)")
_CLOSE_MARK = re.compile(r"(^|> ?)(#{1,6})(?=[^#\s])")

MAX_LENGTH = 5
"""Characters of the longest separator, with the blanks around it."""


@lru_cache(maxsize=4096)
def elements(heading_path: str) -> Elements:
    """Split a heading path into its normalised headings, outermost first.

    A path whose parts carry `#` marks is split only where a mark follows, so a heading may contain ` > `;
    a path without marks is split at every `>`.
    """
    path = fold(heading_path)
    delimiter = _MARKED_DELIMITER if path.startswith("#") else _ANY_DELIMITER
    parts = (_LEVEL_MARK.sub("", part).strip() for part in delimiter.split(path))
    return tuple(part for part in parts if part)


def written(path: Elements, levels: Sequence[int] = ()) -> str:
    """Write a heading path with level marks, as `# A > ## B`: of these levels, else one level deeper each."""
    depths = levels or range(1, len(path) + 1)
    return " > ".join(f"{'#' * min(depth, 6)} {title}" for depth, title in zip(depths, path, strict=True))


def as_read(place: str, heading_path: str | None) -> str:
    """Name a section of a place as people read it, as `Note.md › A › B`: no level marks; the place alone for none."""
    return " › ".join([place, *elements(heading_path or "")])


def covers(gold: str, retrieved: str, same: Same = same_title) -> bool:
    """Return whether the section at `retrieved` is the section at `gold` or lies inside it.

    Marks of `gold` may lack their space: `#A > ##B` is `# A > ## B`, if it is not the heading `#A` itself.
    """
    return any(_begins(path, retrieved, same) for path in _with_spaced_marks(gold))


def last_headings(path: str) -> frozenset[str]:
    """Return the innermost heading of a path, and what that may be where nobody knows which `>` is a delimiter."""
    paths = map(elements, _with_spaced_marks(path))
    return frozenset(end for headings in paths if headings for end in (headings[-1], *_flat(headings)[-1:]))


def is_path(wanted: Elements, path: Elements, same: Same = same_title) -> bool:
    """Return whether two paths are of the same headings, one by one."""
    return len(wanted) == len(path) and all(map(same, wanted, path))


def is_end_of(gold: str, cited: str, same: Same = same_title) -> bool:
    """Return whether a path names the last headings of `gold`, all or some of them."""
    wanted, last = elements(gold), elements(cited)
    return 0 < len(last) <= len(wanted) and all(map(same, wanted[-len(last) :], last))


@lru_cache(maxsize=4096)
def _with_spaced_marks(gold: str) -> tuple[str, ...]:
    spaced = _CLOSE_MARK.sub(r"\1\2 ", fold(gold)) if "#" in gold else gold
    return (gold,) if spaced == gold else (gold, spaced)


def _begins(gold: str, retrieved: str, same: Same) -> bool:
    wanted, got = elements(gold), elements(retrieved)
    if gold.lstrip().startswith("#") != retrieved.lstrip().startswith("#"):
        # one side has no level marks, so a `>` inside a heading cannot be told from a delimiter: compare flat
        wanted, got = _flat(wanted), _flat(got)
    return 0 < len(wanted) <= len(got) and all(map(same, wanted, got))


def fold(text: str) -> str:
    """Normalise to NFC and collapse white space: what matching ignores everywhere. Linear, whatever the text."""
    return " ".join(unicodedata.normalize("NFC", stream_safe(text)).split())


def contains_snippet(text: str, snippets: Iterable[str]) -> bool:
    """Return whether at least one snippet stands in the text, ignoring case and white space."""
    haystack = _folded(text)
    return any(_folded(snippet) in haystack for snippet in snippets)


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    return fold(text).casefold()


def inside_folder(folder: str, selected: str) -> bool:
    """Return whether `folder` is `selected` or below it, by path elements (`docs` does not cover `docs-old`).

    Folders are written `vault/path`; the root of a vault is `vault/`, which covers only notes at the root.
    """
    if selected.endswith("/"):
        return folder == selected
    return folder == selected or folder.startswith(selected + "/")


def inside_place(note: str, places: Iterable[str]) -> bool:
    """Return whether a note, `vault/rel_path`, lies in one of some places: vaults, folders, or notes themselves."""
    return any(note == place or note.startswith(f"{place}/") for place in places)


@lru_cache(maxsize=1 << 14)  # the same notes come back for many questions
def in_scope(rel_path: str, vaults: tuple[str, ...], selected: tuple[str, ...]) -> bool:
    """Whether a note's folder lies in a selected folder, in any of the vaults (in all of them when none is named)."""
    folder = rel_path.rpartition("/")[0]
    possible = vaults or {name.split("/", 1)[0] for name in selected}
    return any(inside_folder(f"{vault}/{folder}", name) for vault in possible for name in selected)


def _flat(parts: Elements) -> Elements:
    return tuple(piece for part in parts for piece in _ANY_DELIMITER.split(part) if piece)


def separator_of(texts: Iterable[tuple[str, Collection[Elements]]]) -> str | None:
    """Return what sets headings apart, where that is one thing in all texts and not what raggate splits at anyway."""
    separator = set_apart_by(texts)
    return separator if separator is not None and ">" not in separator else None


def set_apart_by(texts: Iterable[tuple[str, Collection[Elements]]]) -> str | None:
    """Return what sets headings apart, where that is one thing in all texts that are put together from headings."""
    separators = {between for text, paths in texts for path in paths if (between := _between(fold(text), path))}
    separator = separators.pop() if len(separators) == 1 else ""
    return separator if separator.strip() else None


def _between(text: str, path: Elements) -> str:
    """What stands between the headings of a path, if the text begins with these, and then with one below them."""
    titles = [fold(title) for title in path]
    if len(titles) < 2 or not text.startswith(titles[0]):
        return ""
    # one heading may stand within what sets two apart, as `-` does in ` - `
    first = len(titles[0])
    lengths = (size for size in range(1, MAX_LENGTH + 1) if text.startswith(titles[1], first + size))
    joined = ((between := text[first : first + size], between.join(titles)) for size in lengths)
    return next((between for between, whole in joined if text == whole or text.startswith(f"{whole}{between}")), "")


MAX_PATH = 400
MAX_SECTION = 600
_CLOSING_MARKS = {"[": "]", "(": ")"}
# every repetition is bounded, so that no answer takes more than linear time
_THEN = r",\s{0,4}section:[ \t]{0,4}"
_CITATION = re.compile(
    rf"(?P<open>[\[(]?)['\"]?(?<!\w)file:\s{{0,4}}(?P<file>[^\n]{{1,{MAX_PATH}}}?){_THEN}"
    rf"|(?P<bare>[\[(])(?P<path>[^\n\[]{{1,{MAX_PATH}}}?\.md){_THEN}",
    re.IGNORECASE,
)
_QUOTES = " \t'\"`*"


class Citation(NamedTuple):
    """One place that a text cites, as it writes it: often without directories, and the last heading alone."""

    rel_path: str
    heading_path: str


def parse(answer: str) -> Iterator[Citation]:
    """Read `File: path, Section: heading` from an answer, in brackets, parentheses, quotes or none.

    A path may hold commas and a section brackets. In brackets `File:` may be missing before a path that ends in
    `.md`. A section ends at the bracket that closes the citation, else at the end of its line.
    """
    for match in _CITATION.finditer(answer):
        path = (match["file"] or match["path"]).strip(_QUOTES)
        section = answer[match.end() : match.end() + MAX_SECTION].partition("\n")[0]
        opening, depth = match["open"] or match["bare"], 1
        for position, character in enumerate(section if opening else ""):
            # brackets inside it are its own
            depth += (character == opening) - (character == _CLOSING_MARKS[opening])
            if depth == 0:
                section = section[:position]
                break
        yield Citation(path, section.strip(_QUOTES).rstrip(".").rstrip(_QUOTES))
