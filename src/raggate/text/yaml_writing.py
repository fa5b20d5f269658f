"""A value -> YAML as a person would write it: some levels of blocks, and what is in them on one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

_WIDTH = 100_000


def block(value: Mapping[str, Any], levels: Mapping[str, Any]) -> str:
    """Write a mapping.

    Args:
        levels: the keys whose mappings are blocks of their own, each with those in it.
    """
    return "".join(f"{line}\n" for line in _lines(value, levels))


def _lines(value: Mapping[str, Any], levels: Mapping[str, Any]) -> Iterator[str]:
    for key, inner in value.items():
        if key in levels and isinstance(inner, Mapping):
            yield f"{one_line(key)}:"
            yield from (f"  {line}" for line in _lines(inner, levels[key]))
        else:
            yield f"{one_line(key)}: {one_line(inner)}"


def one_line(value: Any, *, unescaped: bool = False) -> str:
    """Write a value on one line; letters beyond ASCII as they are if they are to be read by people alone."""
    written: str = yaml.safe_dump(
        value, default_flow_style=True, width=_WIDTH, sort_keys=False, allow_unicode=unescaped
    )
    return written.removesuffix("...\n").strip()
