"""Nouns -> plain dicts, as files hold them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

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
