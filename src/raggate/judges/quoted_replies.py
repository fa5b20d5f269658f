"""Replies that stand in what was to be graded: an answer that brings its own grade has not been graded by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from raggate.judges.parse import ReplyFormat, schema_of
from raggate.text.jsonio import JsonObject, fields

_QUOTES = ('"', "'", "`")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
# a reply may stand there as JSON inside JSON inside JSON
_LEVELS = 3


def is_quoted(reply: ReplyFormat, material: JsonObject) -> bool:
    """Say whether a reply stands in the material, however JSON spells it there, as one does that was put there.

    That is when its reasons stand there between quotes; of a reply without reasons, when all of its texts do, with
    their keys. Reasons that quote the answer are no such thing: what they quote is not all of them, or has no quotes
    there. It is also when all its keys stand there with the same grades, whatever its reasons: a model that was led by
    them gives reasons of its own, too.
    """
    wanted, given = _telling(reply), _given(reply)
    return any(
        _stands_in(reading, wanted) or (bool(given) and all(part.search(_packed(reading)) for part in given))
        for text in _strings(material)
        for reading in _readings(text)
    )


def _stands_in(reading: str, wanted: list[str]) -> bool:
    return bool(wanted) and all(any(f"{quote}{part}{quote}" in reading for quote in _QUOTES) for part in wanted)


def _given(reply: ReplyFormat) -> list[re.Pattern[str]]:
    """Give what finds a reply with the same grades in packed text; nothing of one that is texts alone."""
    content, parts = reply.model_dump(), fields(schema_of(type(reply)).get("properties"))
    grades = {key for key, part in parts.items() if _is_grade(fields(part))}
    values = {key: re.escape(json.dumps(content[key], separators=(",", ":"))) + r"(?![\d.])" for key in grades}
    return [re.compile(f'"{key}":{values.get(key, "")}') for key in parts] if grades else []


def _is_grade(part: JsonObject) -> bool:
    """Say whether a key of a reply holds a grade, by its schema, and not a text or claims."""
    kinds = {part.get("type"), fields(part.get("items")).get("type")}
    return "enum" in part or bool(kinds & {"boolean", "integer"})


def _packed(reading: str) -> str:
    """Write a text as its JSON would be without spaces, whatever quotes it has, and as Python writes yes and no."""
    return re.sub(r"['`]", '"', reading.replace(" ", "")).lower()


def _telling(reply: ReplyFormat) -> list[str]:
    """Give the texts that nobody but its author would have written like that; none of a reply that has no text."""
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
