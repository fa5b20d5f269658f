"""Which notes of the vaults are private or deleted: by where they lie, by their tags, by their front matter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from raggate.config.probe_settings import Private, bare_tag, marking
from raggate.errors import UsageError
from raggate.inputs.headings import front_matter_of
from raggate.models.golden import Vault
from raggate.text.anchors import inside_place
from raggate.text.yamlio import parse

_TAG = re.compile(r"(?<![\w/#&])#([\w/-]+)")
_LINE = re.compile(r"^([\w-]+)[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_NO_VALUE = (None, False, "")


def private_notes(vault: Vault, private: Private) -> tuple[str, ...]:
    """Name the notes that are marked, as `vault/rel_path`, sorted. Empty notes are in no index and not named."""
    if not private.marks:
        return ()
    return tuple(
        sorted(f"{name}/{path}" for (name, path), text in vault.texts.items() if _marked(name, path, text, private))
    )


def visible(vault: Vault, private: Private) -> Vault:
    """Return the vault without the texts of the notes that are marked: what questions may be about."""
    hidden = frozenset(private_notes(vault, private))
    texts = {(name, path): text for (name, path), text in vault.texts.items() if f"{name}/{path}" not in hidden}
    return replace(vault, texts=texts)


def _marked(name: str, path: str, text: str, private: Private) -> bool:
    if inside_place(f"{name}/{path}", private.places):
        return True
    if not (private.front_matter or private.tags):
        return False
    front_matter = _fields(text)
    return any(_has(front_matter, key, values) for key, values in private.front_matter.items()) or any(
        _is_below(tag, marks) for tag in _tags(text, front_matter) for marks in private.tags
    )


def _fields(text: str) -> dict[str, Any]:
    """Read a note's front matter; line by line where it is no YAML, as others may read it all the same."""
    written = front_matter_of(text)
    try:
        value = parse(written.encode("utf-8", "replace"), "front matter").value
    except UsageError:
        value = {key: entry.strip(" \t\"'") for key, entry in _LINE.findall(written)}
    return {str(key).casefold(): entry for key, entry in value.items()} if isinstance(value, dict) else {}


def _has(front_matter: dict[str, Any], key: str, values: list[str | bool]) -> bool:
    entry = front_matter.get(key.casefold())
    entries = entry if isinstance(entry, list) else [entry]
    if not values:
        return any(item not in _NO_VALUE for item in entries)
    return not set(map(marking, entries)).isdisjoint(map(marking, values))


def _tags(text: str, front_matter: dict[str, Any]) -> Iterator[str]:
    for key in ("tags", "tag"):
        listed = front_matter.get(key)
        items = listed if isinstance(listed, list) else re.split(r"[,\s]+", listed) if isinstance(listed, str) else []
        yield from map(str, items)
    yield from _TAG.findall(text)


def _is_below(tag: str, mark: str) -> bool:
    return inside_place(bare_tag(tag), [bare_tag(mark)])
