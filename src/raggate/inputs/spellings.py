"""A question -> the same question in other letters, which mean the same to every reader. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal

from raggate.text.stream_safe import stream_safe


def spellings(question: str) -> Iterator[tuple[str, str]]:
    """Give what was changed and the changed question, where that is another one.

    A case that another alphabet has no way back from (`ß`, `İ`) is left alone: capitals whose case folding is not that
    of the question are another word.
    """
    capitals = question.upper()
    if capitals != question and capitals.casefold() == question.casefold():
        yield "capitals", capitals
    elif (small := question.lower()) != question and small.casefold() == question.casefold():
        yield "small letters", small
    spaced = f"  {'  '.join(question.split())} "
    if spaced != question:
        yield "white space", spaced
    yield from unicode_form(question)


def unicode_form(question: str) -> Iterator[tuple[str, str]]:
    """Give the decomposed form (NFD) of a question, or the composed one (NFC) of one that is decomposed already."""
    safe = stream_safe(question)
    forms: tuple[Literal["NFD"], Literal["NFC"]] = ("NFD", "NFC")
    for form in forms:
        other = unicodedata.normalize(form, safe)
        if other not in {question, safe}:
            yield f"Unicode form {form}", other
            return
