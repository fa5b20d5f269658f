"""Dataclasses -> plain dicts, as files hold them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

_ATOMS = frozenset((str, int, float, bool, type(None)))


def as_dict(value: Any) -> dict[str, Any]:
    """Give the fields of a dataclass, and of those within it, as `dataclasses.asdict` does.

    That copies every text and number, for which it takes three times as long before Python 3.12, and keeps mappings
    that JSON does not know. Here the one is shared, and the other becomes a dict.
    """
    kind: type = type(value)
    return {name: _plain(getattr(value, name)) for name in _names(kind)}


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
    return as_dict(value) if is_dataclass(kind) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind))
