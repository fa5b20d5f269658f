"""A configuration as it stands in its file, and waivers -> the file with them; nothing else in it changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from raggate.config import schema
from raggate.config.waiver_settings import Waiver
from raggate.errors import UsageError
from raggate.text.yaml_insertion import with_items
from raggate.text.yamlio import parse

_KEY = "waivers"


def with_waivers(data: bytes, name: str, waivers: Sequence[Waiver]) -> bytes:
    """Add waivers to a configuration, behind those that it has.

    Comments, order and layout stay. The result is read again: it means what the file meant before and these waivers,
    or it is not given.

    Args:
        data: the configuration's file.
        name: of the file for messages.
        waivers: at least one, of printable texts.

    Raises:
        UsageError: for a configuration that is not valid, or is written in a way that nothing can be added to.
    """
    before = schema.load(data, name)
    values = [waiver.model_dump(exclude_none=True) for waiver in waivers]
    items = [_item(value) for value in values]
    edited = with_items(data, _KEY, items, name)
    whole: Any = parse(data, name).value
    expected = before.model_copy(update={_KEY: [*before.waivers, *waivers]})
    try:
        same = parse(edited, name).value == {**whole, _KEY: [*whole.get(_KEY, ()), *values]}
        if same and schema.load(edited, name) == expected:
            return edited
    except UsageError:
        # what does not read any more is as wrong as what reads as something else
        pass
    raise UsageError(
        f"{name}: a waiver cannot be added to this file as it is written",
        hint=f"Add it by hand, as an item of `{_KEY}`: {items[0]}",
    )


def _item(value: dict[str, str]) -> str:
    """Write a waiver on one line, every text in quotes: one such as `on` or `17` would be read as something else."""
    texts = {key: text if key == "expires" else json.dumps(text, ensure_ascii=False) for key, text in value.items()}
    return "{" + ", ".join(f"{key}: {text}" for key, text in texts.items()) + "}"
