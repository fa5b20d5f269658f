"""Heading paths that hold the headings of a section, but not as the golden set writes them. Pure."""

from __future__ import annotations

from raggate.text.anchors import elements
from raggate.text.titles import without_attributes


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
    """Return the letters and digits of each heading, without its attributes."""
    return ["".join(filter(str.isalnum, without_attributes(heading).casefold())) for heading in elements(path)]
