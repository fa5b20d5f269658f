"""Which retrieved chunks people have judged beside those that match: by the places that the golden set names. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.models.golden import Case, Support
from raggate.models.run import Chunk
from raggate.text.anchors import covers, elements
from raggate.text.titles import Same


def judged_places(chunks: Sequence[Chunk], matches: Sequence[Sequence[int]], case: Case, same: Same) -> tuple[int, ...]:
    """Return the positions of chunks without a match that are of a judged place; see `Labels.judged`."""
    return tuple(
        position
        for position, (chunk, matched) in enumerate(zip(chunks, matches, strict=True))
        if not matched
        and (
            any(_is_of(chunk, place, case) and is_exactly(chunk, place, same) for place in case.not_relevant)
            or any(_is_of(chunk, support, case) and _is_within(chunk, support, same) for support in case.gold_supports)
        )
    )


def is_exactly(chunk: Chunk, place: Support, same: Same) -> bool:
    """Return whether a chunk is under the very heading of a place: what stands deeper was not looked at."""
    if not place.rel_path:
        return True
    if place.heading_path is None:
        return not elements(chunk.heading_path)
    return covers(place.heading_path, chunk.heading_path, same) and covers(chunk.heading_path, place.heading_path, same)


def _is_within(chunk: Chunk, support: Support, same: Same) -> bool:
    return support.heading_path is None or covers(support.heading_path, chunk.heading_path, same)


def _is_of(chunk: Chunk, place: Support, case: Case) -> bool:
    """Return whether a chunk is of the note, or has the id, that a place names."""
    if place.chunk_id is not None:
        return chunk.chunk_id == place.chunk_id
    if place.doc_id is not None:
        return place.doc_id == chunk.document
    return chunk.rel_path == place.rel_path and case.may_be_in(chunk.vault, place)
