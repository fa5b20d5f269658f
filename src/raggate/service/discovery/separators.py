"""Headings that an unknown API returns as one text -> what sets them apart, by those that the notes have. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from raggate.text.anchors import Elements, fold

MAX_LENGTH = 5
"""Characters of the longest separator, with the blanks around it."""


def separator_of(texts: Iterable[tuple[str, Collection[Elements]]]) -> str | None:
    """Give what sets headings apart, where that is one thing in all texts and not what raggate splits at anyway.

    Args:
        texts: what the API returned as the headings of a chunk, each with the heading paths of its note.
    """
    separators = {between for text, paths in texts for path in paths if (between := _between(fold(text), path))}
    separator = separators.pop() if len(separators) == 1 else ""
    return separator if separator.strip() and ">" not in separator else None


def _between(text: str, path: Elements) -> str:
    """Give what stands between the headings of a path, if the text is these and nothing else."""
    titles = [fold(title) for title in path]
    if len(titles) < 2 or not text.startswith(titles[0]) or not text.endswith(titles[-1]):
        return ""
    length, rest = divmod(len(text) - sum(map(len, titles)), len(titles) - 1)
    between = text[len(titles[0]) :][: max(length, 0)]
    return between if not rest and length <= MAX_LENGTH and between.join(titles) == text else ""
