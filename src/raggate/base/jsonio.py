"""JSON bytes in and out of files: strict reading, atomic writing.

Every command loads this module, most to say `--help` or an error, so what it needs is loaded at the first use.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from raggate.base.errors import UsageError
from raggate.base.quote import quoted

JsonObject = Mapping[str, object]
"""An object of JSON from elsewhere: whoever reads a value looks at its type first."""

MERGE_MARKERS = (b"<<<<<<<", b"=======", b"|||||||", b">>>>>>>")
"""Each begins a line of a file that git could not merge."""

MAX_DEPTH = 200
"""Levels of objects and lists in a document."""
_WRITTEN_DEPTH = 254
"""Levels that `dumps` can write: what is read may be written as a part of something else."""


def dumps(value: object, *, pretty: bool = False, in_order: bool = False) -> bytes:
    """Serialise with sorted keys, or `in_order` as they stand; with `pretty`, indented, printable, ending in a newline.

    NaN and infinities become null.
    """
    import orjson

    options = 0 if in_order else orjson.OPT_SORT_KEYS
    if pretty:
        options |= orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    data = orjson.dumps(value, asdict, options)
    return printable(data.decode()).encode() if pretty else data


def pieces(value: object, margin: str = "") -> Iterator[str]:
    """Write what `dumps` with `pretty` does, piece by piece; each iterator in it becomes a list that is never whole."""
    if isinstance(value, Mapping) and any(isinstance(part, Mapping | Iterator) for part in value.values()):
        parts = (f"{_block(key, '')}: " for key in sorted(value))
        yield from _enclosed("{}", zip(parts, (value[key] for key in sorted(value)), strict=True), margin)
    elif isinstance(value, Iterator):
        yield from _enclosed("[]", (("", part) for part in value), margin)
    else:
        yield _block(value, margin)
    if not margin:
        yield "\n"


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these keys and values, for `json.loads`; a `ValueError` names a key that occurs twice."""
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"key {quoted(key)} occurs twice")
        value[key] = item
    return value


def _enclosed(ends: str, parts: Iterable[tuple[str, object]], margin: str) -> Iterator[str]:
    inner, before = f"{margin}  ", ends[0]
    for name, part in parts:
        yield f"{before}\n{inner}{name}"
        yield from pieces(part, inner)
        before = ","
    yield ends if before == ends[0] else f"\n{margin}{ends[1]}"


def _block(value: object, margin: str) -> str:
    return dumps(value, pretty=True).decode().removesuffix("\n").replace("\n", f"\n{margin}")


def written(value: object) -> object:
    """What `dumps` writes as it would the value, which is written here: that is smaller. It raises as `dumps`."""
    import orjson

    return orjson.Fragment(dumps(value))


def dump_line(value: object) -> bytes:
    """Serialise as a line of a file of lines, its end included, as `dumps` and `printable` do. It raises as `dumps`."""
    data = dumps(value)
    # of ASCII, JSON leaves but one character unescaped that cannot be seen, and almost every line is ASCII
    if not data.isascii() or b"\x7f" in data or b"##[" in data:
        data = printable(data.decode()).encode()
    return data + b"\n"


def printable(document: str) -> str:
    """Write JSON so that it may stand in a terminal or a CI log: what could act there becomes an escape of JSON.

    That is every character that cannot be seen (controls, direction marks), and the mark of a runner's command, `##[`.
    The values stay the same.
    """
    if document.replace("\n", "").isprintable() and "##[" not in document:
        return document
    import json
    import re

    unseen = {ord(character): json.dumps(character)[1:-1] for character in set(document) if not character.isprintable()}
    unseen.pop(ord("\n"), None)
    # `translate` looks at each character by itself, and nearly all of a row are of those that everybody sees
    document = re.sub(r"[^\n -~]+", lambda match: match[0].translate(unseen), document)
    return document.replace("##[", "#\\u0023[")


def loads(data: bytes | str) -> Any:
    """Parse JSON strictly (no NaN, no Infinity, valid UTF-8, no more than 200 levels)."""
    import orjson

    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if (wrong := _not_utf8(data)) is not None:
            raise ValueError(f"not valid UTF-8 at byte {wrong}") from None
        # a line of a larger file has its own number, so "line 1" would be wrong
        line = f"line {error.lineno}, " if "\n" in error.doc.rstrip() else ""
        raise ValueError(f"{error.msg} at {line}column {error.colno}") from None
    brackets = (b"[", b"{") if isinstance(data, bytes) else ("[", "{")
    if sum(map(data.count, brackets)) > MAX_DEPTH and too_deep(value):  # type: ignore[arg-type]
        raise ValueError(f"nested too deeply: at most {MAX_DEPTH} levels are allowed")
    return value


def too_deep(value: object) -> bool:
    """Return whether a parsed value has more than `MAX_DEPTH` levels."""
    import orjson

    try:
        # looking at each value in Python takes as long as reading it
        orjson.dumps(functools.reduce(lambda inner, _: [inner], range(_WRITTEN_DEPTH - MAX_DEPTH), value))
    except orjson.JSONEncodeError:
        return True
    return False


def refuse_twice(document: bytes | str) -> None:
    """Raise a `ValueError` for a key that occurs twice in an object: people may see one value, and the other counts."""
    import json

    try:
        json.loads(document, object_pairs_hook=distinct)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _not_utf8(data: bytes | str) -> int | None:
    """Return the place of the first byte that is no UTF-8; the parser speaks of surrogates then, which nobody wrote."""
    if isinstance(data, str):
        return None
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def parse(data: bytes | str, place: str) -> Any:
    """Parse what a file holds."""
    try:
        return loads(data)
    except ValueError as error:
        raise UsageError(f"{place}: not valid JSON: {error}") from None


def fields(value: object) -> dict[str, Any]:
    """Return the fields of a JSON object of somebody else's; none of anything that is no object."""
    return value if isinstance(value, dict) else {}


def holds_more(value: object, most: int) -> bool:
    """Return whether a parsed value has more than so many values in it, itself among them."""
    waiting, count = [value], 0
    while waiting and count <= most:
        inner = waiting.pop()
        count += 1
        if isinstance(inner, list | dict):
            waiting.extend(inner.values() if isinstance(inner, dict) else inner)
    return count > most


def parse_object(data: bytes, place: str) -> dict[str, Any]:
    """Parse a JSON object."""
    value = parse(data, place)
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected a JSON object")
    return value


_ATOMS = frozenset((str, int, float, bool, type(None)))


def as_dict(value: Struct) -> dict[str, Any]:
    """The fields of a noun, and of those within it: lists and tuples stay what they are, mappings become dicts."""
    return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is tuple:
        return tuple(map(_plain, value))
    if kind is list:
        return [*map(_plain, value)]
    if kind is dict or isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    return as_dict(value) if isinstance(value, Struct) else value


def schema_problem(named: object, schema: str) -> str | None:
    """Return why a file cannot be read; None if it has the schema."""
    return None if named == schema else f"schema is {quoted(named)}, but this raggate reads {schema!r}"
