"""Characters that are not seen at all: a text with them between its letters reads as one without."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

GONE = frozenset(("Cf", "Cs", "Co", "Cn"))
"""Categories of Unicode: format, surrogate, private, unassigned."""


def without(text: str) -> str:
    """Leave out what is not seen. Controls and line breaks stay: they are shown as spaces."""
    if text.isascii():
        return text
    return "".join(character for character in text if unicodedata.category(character) not in GONE)


MAX_MARKS = 30
"""Combining marks in a row, as in Unicode's stream-safe text format; no script has words with half as many."""

_JOINER = "\u034f"  # the combining grapheme joiner: invisible, and no mark is sorted past it


def stream_safe(text: str) -> str:
    """Break runs of more than 30 combining marks, as Unicode's stream-safe text format (UAX 15) does.

    Normalising sorts each run, which takes the square of its length, in one call that no signal interrupts.
    """
    if text.isascii():
        return text
    marks = "".join(sorted(character for character in set(text) if _is_mark(character)))
    if not marks:
        return text
    # a function is called three times as fast as a template is filled in
    return re.sub(f"[{re.escape(marks)}]{{{MAX_MARKS}}}", lambda run: run[0] + _JOINER, text)


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    # some that are none themselves fall apart into marks
    return unicodedata.combining(unicodedata.normalize("NFD", character)[0]) > 0


_WORD = re.compile(r"\w+")
_SPACED = "".join(character if character.isalnum() or character == "_" else " " for character in map(chr, range(128)))


def words(text: str) -> list[str]:
    r"""Return what `\w+` finds in a text, in order; in ASCII, as most of it is, five times as fast."""
    return text.translate(_SPACED).split() if text.isascii() else _WORD.findall(text)


_PIECE = re.compile(r"\s*\S+\s*")
_EMOJI_SIGN = "\ufe0f"  # makes an emoji of two columns of a character of one
_NO_COLUMN = frozenset(("Mn", "Me", "Cf", "Cc"))


def width(text: str) -> int:
    """Return the columns of a text: two for East Asian letters and emoji, none for accents that stand by themselves."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def wrapped(text: str, room: int) -> list[str]:
    """Return a text as lines of at most `room` columns, broken between words; a longer word is broken within."""
    lines, line = [], ""
    for word in _PIECE.findall(text):
        if width(line) + width(word.rstrip()) <= room:
            line += word
            continue
        if line:
            lines.append(line.rstrip())
        line = word
        while width(line.rstrip()) > room:
            end = _end(line, room)
            lines.append(line[:end])
            line = line[end:]
    return [*lines, line.rstrip()] if line or not lines else lines


def _end(text: str, room: int) -> int:
    taken = 0
    for place, character in enumerate(text):
        taken += _columns(character)
        if taken > room:
            return max(place, 1)
    return len(text)


def _columns(character: str) -> int:
    if character.isascii() or character == _EMOJI_SIGN:
        return 1
    if unicodedata.category(character) in _NO_COLUMN:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
