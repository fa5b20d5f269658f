"""Whether a text stands in a note: by shingles of three words, whatever markup either side still has. Pure.

Chunkers join lines, drop or keep markup, cut words at an end, add an ellipsis, mark what was searched for, and put
the title, the headings or the path before the text. None of that makes a text invented: words that name the place do
not count, and the rest need not stand whole.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property

from raggate.text.headings import ATTRIBUTE_LIST
from raggate.text.unicode import stream_safe, words as ascii_words

SHINGLE = 3
"""Words in a row that must stand in the note to count."""

SHORT = 8
"""Below so many words that count, too few for shingles, each word is looked for by itself."""

ENOUGH = 0.25
"""Share of a text's words that must stand in the note. Measured: docs/decisions/0010-what-stands-in-a-note.md."""

JUDGED_CHARACTERS = 8_000
"""Of a returned text, no more than this is looked at."""

MAX_NOTE_CHARACTERS = 2 << 20
"""A longer note is not indexed, and what is said to be of it is not judged."""

# scripts without spaces between words: each letter is a word
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]"
)
_BLANK = frozenset("\u2800")
# none of these can start inside itself, so that all take linear time
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]"), r"\1"),
    (re.compile(r"\[\^[^\[\]\n]*\]:?"), " "),
    (re.compile(r"\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>\n]{0,200}>"), " "),
    (re.compile(r"^[ \t>]*(?:\d{1,9}[.)]|[-*+](?: \[[ xX]\])?)[ \t]+", re.MULTILINE), ""),
    (re.compile(r"^[ \t>]*(?:```|~~~)[^\n]*$", re.MULTILINE), ""),
    (re.compile(ATTRIBUTE_LIST), " "),
)

# Python reads no number of thousands of digits; no character has one of eight
_NO_CHARACTER = re.compile(r"&#0*[1-9][0-9]{7,};?|&#0{8,}")


_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Co", "Mn", "Me"))
MAX_CHARACTERS = 150
_MIN_WORDS = 4
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)
_END = re.compile(r"(?<=[.!?])\s")


def words(text: str) -> list[str]:
    """Return the words of a text in order, without case, marks between them, and compatibility forms."""
    if text.isascii():
        return ascii_words(text.casefold().replace("_", " "))
    return _WORD.findall(unicodedata.normalize("NFKC", stream_safe(_INVISIBLE.sub("", text))).casefold())


def bare(text: str) -> str:
    """Take Markdown and HTML markup away that holds words of its own: targets of links, tags, numbers of lists."""
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    return html.unescape(_NO_CHARACTER.sub(" ", text))


def has_text(text: str) -> bool:
    """Return whether anything of a text can be seen, at its start if it is long."""
    seen = (char for char in _INVISIBLE.sub("", text[:JUDGED_CHARACTERS]) if char not in _BLANK and not char.isspace())
    return any(unicodedata.category(char) not in _UNSEEN for char in seen)


class NoteWords:
    """The words of one note, to look texts up in. Indexed at the first look.

    Attributes:
        judged: whether the note is short enough to be looked at.
    """

    def __init__(self, text: str, place: Iterable[str]) -> None:
        """Take a note.

        Args:
            place: what names it and its parts, such as its vault, path and headings; read once, where needed.
        """
        self._text = text
        self._place = place
        self.checkable = len(text) <= MAX_NOTE_CHARACTERS

    def holds(self, text: str) -> bool:
        """Return whether a text that can be seen stands in the note, or enough of it."""
        return self.share(text) >= ENOUGH

    def share(self, text: str) -> float:
        """Return the share of the text's words that stand in the note, of those that do not only name the place."""
        start = text[:JUDGED_CHARACTERS]
        share = self._share(start)
        if share == 1:
            # as most texts do that stand in their note as they are
            return share
        stripped = bare(start)
        return share if stripped == start else max(share, self._share(stripped))

    def _share(self, text: str) -> float:
        given = words(text)
        if not given:
            # nothing but symbols
            return float("".join(text.split()) in self._symbols)
        whole = f" {' '.join(given)} "
        if whole in self._running or whole in self._bare_running:
            return 1.0
        standing = self._standing(given)
        counted = [
            (word, stands) for word, stands in zip(given, standing, strict=True) if stands or word not in self._names
        ]
        if not counted:
            return 1.0
        if len(counted) < SHORT:
            if any("".join(given) in letters for letters in self._glued):
                # cut within its first or last word
                return 1.0
            return sum(word in self._vocabulary for word, _ in counted) / len(counted)
        return sum(stands for _, stands in counted) / len(counted)

    def _standing(self, given: Sequence[str]) -> list[bool]:
        """Say of each word whether it is part of a shingle that the note has."""
        standing = [False] * len(given)
        for start, shingle in enumerate(shingles(given)):
            if shingle in self._shingles:
                standing[start : start + SHINGLE] = [True] * SHINGLE
        return standing

    @cached_property
    def _running(self) -> str:
        return f" {' '.join(words(self._text))} "

    @cached_property
    def _bare_running(self) -> str:
        return f" {' '.join(words(bare(self._text)))} "

    @property
    def _variants(self) -> tuple[list[str], list[str]]:
        return self._running.split(), self._bare_running.split()

    @cached_property
    def _glued(self) -> tuple[str, ...]:
        return tuple("".join(variant) for variant in self._variants)

    @cached_property
    def _symbols(self) -> str:
        return "".join(self._text.split())

    @cached_property
    def _shingles(self) -> frozenset[tuple[str, ...]]:
        return frozenset(shingle for variant in self._variants for shingle in shingles(variant))

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(word for variant in self._variants for word in variant)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(word for name in self._place for word in words(name))


def shingles(given: Sequence[str], size: int = SHINGLE) -> Iterable[tuple[str, ...]]:
    """Return every so many words in a row of some words."""
    return zip(*(given[start:] for start in range(size)), strict=False)


def first_sentence(text: str) -> str:
    """Return the first line of prose up to the end of its sentence, cut after a word; empty where there is none.

    A line of prose begins with a letter or a number, unlike a heading, a list, a table or a link, and has some words.
    """
    unfenced = _FENCE.sub("", _FRONT_MATTER.sub("", text.lstrip("\ufeff"), count=1))
    for line in map(str.strip, unfenced.splitlines()):
        prose = _END.split(line, maxsplit=1)[0]
        if line[:1].isalnum() and len(prose.split()) >= _MIN_WORDS:
            return prose if len(prose) <= MAX_CHARACTERS else prose[:MAX_CHARACTERS].rpartition(" ")[0]
    return ""
