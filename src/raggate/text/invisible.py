"""Characters that are not seen at all: a text with them between its letters reads as one without."""

from __future__ import annotations

import unicodedata

GONE = frozenset(("Cf", "Cs", "Co", "Cn"))
"""Categories of Unicode: format, surrogate, private, unassigned."""


def without(text: str) -> str:
    """Leave out what is not seen. Controls and line breaks stay: they are shown as spaces."""
    if text.isascii():
        return text
    return "".join(character for character in text if unicodedata.category(character) not in GONE)
