"""Gold supports and chunks by name, and which of them stand where in an answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from raggate.models.golden import Case, Support
from raggate.models.run import Chunk, LabelledResult
from raggate.text.anchors import as_read

Ranked = tuple[int, int, Chunk]
"""Rank, position in the answer, and the chunk."""


def unmatched(item: LabelledResult) -> tuple[Support, ...]:
    """Return the gold supports that no chunk matches."""
    met = {index for matches in item.labels.matches for index in matches}
    return tuple(support for index, support in enumerate(item.case.gold_supports) if index not in met)


def ranked(item: LabelledResult) -> list[Ranked]:
    """Return the chunks that hold a rank, all but repeated ones."""
    dropped = set(item.labels.duplicates)
    kept = [(position, chunk) for position, chunk in enumerate(item.result.chunks) if position not in dropped]
    return [(rank, position, chunk) for rank, (position, chunk) in enumerate(kept, 1)]


def place(support: Support, case: Case) -> str:
    """Name a gold support by vault, note and section, as far as the golden set tells them."""
    if not support.rel_path:
        return f"chunk {support.chunk_id}" if support.chunk_id is not None else f"document {support.doc_id}"
    vaults = case.vaults_of(support)
    path = f"{vaults[0]}/{support.rel_path}" if len(vaults) == 1 else support.rel_path
    return as_read(path, support.heading_path)


def note_of(support: Support, case: Case) -> str:
    """Name the note that a gold support is of."""
    return place(replace(support, heading_path=None), case)


def of_chunk(chunk: Chunk) -> str:
    """Name a chunk likewise, as far as the API tells them."""
    path = f"{chunk.vault}/{chunk.rel_path}" if chunk.vault else chunk.rel_path or chunk.doc_id or chunk.chunk_id
    return as_read(path, chunk.heading_path)


def of_path(support: Support, retrieved: Sequence[Ranked]) -> Iterator[Ranked]:
    """Yield all that is of a note of the same path."""
    for rank, position, chunk in retrieved:
        if support.rel_path and chunk.rel_path == support.rel_path:
            yield rank, position, chunk
