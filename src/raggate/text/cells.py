"""How many columns of a terminal a text takes, and the text in lines of so many."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\s*\S+\s*")
_EMOJI_SIGN = "\ufe0f"  # makes an emoji of two columns of a character of one
_NO_COLUMN = frozenset(("Mn", "Me", "Cf", "Cc"))


def width(text: str) -> int:
    """Return the columns of a text: two for East Asian letters and emoji, none for accents that stand by themselves."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def wrapped(text: str, room: int) -> list[str]:
    """Return a text as lines of at most `room` columns, broken between words; a longer word is broken within."""
    lines, line = [], ""
    for word in _WORD.findall(text):
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
    """Return how many characters fit, at least one."""
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
