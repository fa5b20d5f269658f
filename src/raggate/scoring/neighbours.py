"""What stands near a gold support without being one: its text under another heading, and copies above it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.models.golden import Case, Support
from raggate.models.run import Chunk
from raggate.text.anchors import contains_snippet, covers, elements, fold
from raggate.text.titles import Same
from raggate.text.words import words

JUDGED = 5
"""Chunks above the first match that are compared with it."""

SHINGLE = 3
"""Words in a row that are compared."""

ALIKE = 0.8
"""Share of the shorter text's shingles from which on two texts say nearly the same."""

FEWEST = 8
"""Shingles below which a text is too short to be a copy of another."""


def filed_elsewhere(
    chunks: Sequence[Chunk], matches: Sequence[Sequence[int]], case: Case, same: Same
) -> tuple[int, ...]:
    """Give the positions of chunks that are of a gold note and hold the gold section, but under another heading.

    Sections that were merged, and headings that are told otherwise, look so. A support without snippets is looked for
    by its own heading as a line of the text.
    """
    return tuple(
        position
        for position, (chunk, matched) in enumerate(zip(chunks, matches, strict=True))
        if not matched and any(_holds_section(chunk, support, case, same) for support in case.gold_supports)
    )


def copies(chunks: Sequence[Chunk], matches: Sequence[Sequence[int]], case: Case) -> tuple[int, ...]:
    """Give the positions of chunks above the first match that say the same: its gold snippet, or nearly its words."""
    first = next((position for position, matched in enumerate(matches) if matched), len(chunks))
    if not first:
        return ()
    own = frozenset(_shingles(chunks[first].text) if first < len(chunks) else ())
    snippets = [snippet for support in case.gold_supports for snippet in support.snippets]
    paths = {support.rel_path for support in case.gold_supports}
    return tuple(
        position
        for position, chunk in enumerate(chunks[: min(first, JUDGED)])
        if (chunk.rel_path not in paths and contains_snippet(chunk.text, snippets)) or _alike(own, chunk.text)
    )


def _holds_section(chunk: Chunk, support: Support, case: Case, same: Same) -> bool:
    heading = support.heading_path
    if not support.rel_path or chunk.rel_path != support.rel_path or heading is None:
        return False
    if not case.may_be_in(chunk.vault, support) or covers(heading, chunk.heading_path, same):
        return False
    if support.snippets:
        return contains_snippet(chunk.text, support.snippets)
    return elements(heading)[-1:] != () and elements(heading)[-1] in _lines(chunk.text)


def _lines(text: str) -> Iterator[str]:
    return (fold(line).lstrip("#").strip() for line in text.splitlines())


def _alike(own: frozenset[tuple[str, ...]], text: str) -> bool:
    if len(own) < FEWEST:
        return False
    shared = own.intersection(_shingles(text))
    # most texts share nothing, and what they have themselves need not be gathered
    if len(shared) < ALIKE * FEWEST:
        return False
    shorter = min(len(own), len(frozenset(_shingles(text))))
    return shorter >= FEWEST and len(shared) >= ALIKE * shorter


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    row = words(text.casefold())
    return zip(*(row[start:] for start in range(SHINGLE)), strict=False)
