"""Headings that an unknown API returns as one text -> what sets them apart, by those that the notes have. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from raggate.text.anchors import Elements, fold

MAX_LENGTH = 5
"""Characters of the longest separator, with the blanks around it."""


def separator_of(texts: Iterable[tuple[str, Collection[Elements]]]) -> str | None:
    """Return what sets headings apart, where that is one thing in all texts and not what raggate splits at anyway.

    Args:
        texts: what the API returned as the headings of a chunk, each with the heading paths of its note.
    """
    separator = set_apart_by(texts)
    return separator if separator is not None and ">" not in separator else None


def set_apart_by(texts: Iterable[tuple[str, Collection[Elements]]]) -> str | None:
    """Return what sets headings apart, where that is one thing in all texts that are put together from headings."""
    separators = {between for text, paths in texts for path in paths if (between := _between(fold(text), path))}
    separator = separators.pop() if len(separators) == 1 else ""
    return separator if separator.strip() else None


def _between(text: str, path: Elements) -> str:
    """What stands between the headings of a path, if the text begins with these, and then with one below them."""
    titles = [fold(title) for title in path]
    if len(titles) < 2 or not text.startswith(titles[0]):
        return ""
    # one heading may stand within what sets two apart, as `-` does in ` - `
    first = len(titles[0])
    lengths = (size for size in range(1, MAX_LENGTH + 1) if text.startswith(titles[1], first + size))
    joined = ((between := text[first : first + size], between.join(titles)) for size in lengths)
    return next((between for between, whole in joined if text == whole or text.startswith(f"{whole}{between}")), "")
