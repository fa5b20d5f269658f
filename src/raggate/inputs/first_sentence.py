"""The text of a note -> its first sentence, which every search of the notes should answer. Pure."""

from __future__ import annotations

import re

MAX_CHARACTERS = 150
_MIN_WORDS = 4
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)
_END = re.compile(r"(?<=[.!?])\s")


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
