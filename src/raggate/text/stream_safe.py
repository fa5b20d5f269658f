"""A text that is safe to normalise: Unicode's stream-safe text format (UAX 15)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

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
