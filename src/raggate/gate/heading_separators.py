"""Headings that an API sets apart by something that they are not split at: named, with where to say so. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from raggate.text.anchors import Elements, elements
from raggate.text.separators import set_apart_by
from raggate.text.titles import without_attributes

Returned = Iterable[tuple[str, Collection[Elements]]]
"""Heading paths that came back, each with those it may stand for."""


def unsplit(returned: Returned) -> str:
    """Say what sets headings apart in paths that came back as one heading; nothing where that is not seen.

    Args:
        returned: heading paths of chunks, with the heading paths of the golden set or of their notes.
    """
    whole = ((_only(text), {(*map(without_attributes, path),) for path in paths}) for text, paths in returned)
    separator = set_apart_by((text, paths) for text, paths in whole if text)
    if separator is None:
        return ""
    return f"the API sets headings apart by {separator!r}, where they are not split: see `heading_separator`"


def _only(heading_path: str) -> str:
    """Return the text of a path that is one heading, whatever it was meant to be; nothing of another."""
    parts = elements(heading_path)
    return parts[0] if len(parts) == 1 else ""
