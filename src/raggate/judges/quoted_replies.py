"""Replies that a judge copied out of what it was to grade: an answer that holds a grade has not been graded by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from raggate.judges.parse import ReplyFormat
from raggate.text.jsonio import JsonObject

_QUOTES = ('"', "'", "`")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
# a reply may stand there as JSON inside JSON inside JSON
_LEVELS = 3


def is_quoted(reply: ReplyFormat, material: JsonObject) -> bool:
    """Say whether a reply stands in the material, however JSON spells it there, as one does that was put there.

    That is when its reasons stand there between quotes; of a reply without reasons, when all of its texts do, with
    their keys. Reasons that quote the answer are no such thing: what they quote is not all of them, or has no quotes
    there.
    """
    wanted = _telling(reply)
    return bool(wanted) and any(
        all(any(f"{quote}{part}{quote}" in reading for quote in _QUOTES) for part in wanted)
        for text in _strings(material)
        for reading in _readings(text)
    )


def _telling(reply: ReplyFormat) -> list[str]:
    """Give the texts that nobody but its author would have written like that; none of a reply that holds no text."""
    content = reply.model_dump()
    if "reasoning" in content:
        return [reasons] if (reasons := _spaced(content["reasoning"])) else []
    values = [_spaced(text) for text in _strings(content)]
    return [*_keys(content), *values] if any(values) else []


def _readings(text: str) -> Iterator[str]:
    """Give a text without backslashes, and as what its escapes of JSON stand for, read once and more often."""
    yield _spaced(text.replace("\\", ""))
    for _ in range(_LEVELS):
        if "\\" not in text:
            return
        # two escapes are one character beyond the first 65536
        text = _ESCAPE.sub(_meant, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield _spaced(text)


def _meant(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _CONTROLS.get(escape[2], escape[2])


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        for part in value.values():
            yield from _keys(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _keys(part)
