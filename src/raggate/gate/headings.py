"""Heading paths that hold the headings of a section, but not as the golden set writes them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from raggate.base.headings import Elements, elements, set_apart_by, without_attributes

Returned = Iterable[tuple[str, Collection[Elements]]]
"""Heading paths that came back, each with those it may stand for."""


def ends_alike(gold: str, heading: str) -> bool:
    """Return whether two paths end in the same headings but for what slugs and other spellings do not keep.

    One heading is not enough where both tell more: notes have the same heading below several others.
    """
    pairs = list(zip(reversed(_slugs(gold)), reversed(_slugs(heading)), strict=False))
    return bool(pairs) and all(wanted == returned != "" for wanted, returned in pairs)


def written_otherwise(gold: str, heading: str) -> bool:
    """Return whether a path has all headings of `gold`, behind others, or with other signs in and between them."""
    wanted, slugs = _slugs(gold), _slugs(heading)
    return all(wanted) and wanted != [] and (slugs[-len(wanted) :] == wanted or "".join(slugs) == "".join(wanted))


def _slugs(path: str) -> list[str]:
    return ["".join(filter(str.isalnum, without_attributes(heading).casefold())) for heading in elements(path)]


def unsplit(returned: Returned) -> str:
    """Return what sets headings apart in paths that came back as one heading; nothing where that is not seen."""
    whole = ((_only(text), {(*map(without_attributes, path),) for path in paths}) for text, paths in returned)
    separator = set_apart_by((text, paths) for text, paths in whole if text)
    if separator is None:
        return ""
    return f"the API separates headings by {separator!r}: set `heading_separator` to that"


def _only(heading_path: str) -> str:
    parts = elements(heading_path)
    return parts[0] if len(parts) == 1 else ""
