"""Faults of one answer's ranking: the same chunks in another order, fewer of them, or some of them twice. Pure.

What comes out is what an API with the fault would tell: its ranks are those of the list, and its final scores fall down
it. So it is the ranking that the gate has to see, not a trace of how the fault was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set as AbstractSet

from msgspec.structs import replace

from raggate.models.run import Chunk, Response
from raggate.prove.lots import shuffled

Note = tuple[str, str]
"""A note: vault and path in it."""


def ranked(response: Response, chunks: Sequence[Chunk]) -> Response:
    """Return a response these chunks in this order; ranks and final scores fit it, where they are told."""
    scores = sorted((chunk.score_final for chunk in chunks if chunk.score_final is not None), reverse=True)
    scored = len(scores) == len(chunks)
    placed = tuple(
        replace(
            chunk,
            rank=None if chunk.rank is None else place + 1,
            score_final=scores[place] if scored else chunk.score_final,
        )
        for place, chunk in enumerate(chunks)
    )
    return replace(response, chunks=placed)


def shuffled_top(response: Response, depth: int, case_id: str) -> Response:
    """Shuffle the first `depth` chunks; what is drawn depends on the question."""
    chunks = response.chunks
    return ranked(response, (*shuffled(chunks[:depth], "shuffled", depth, case_id), *chunks[depth:]))


def reversed_list(response: Response) -> Response:
    """Sort the wrong way round."""
    return ranked(response, response.chunks[::-1])


def first_demoted(response: Response, by: int) -> Response:
    """Let the first chunk stand `by` ranks lower; those between move up."""
    first, rest = response.chunks[:1], response.chunks[1:]
    return ranked(response, (*rest[:by], *first, *rest[by:]))


def cut_list(response: Response, depth: int) -> Response:
    """Return no more than `depth` chunks."""
    return ranked(response, response.chunks[:depth])


def emptied(response: Response) -> Response:
    """Return nothing, and cite nothing."""
    return replace(response, chunks=(), references=())


def duplicated(response: Response, times: int) -> Response:
    """Return every chunk so many times, each under an id of its own; the list is as long as before."""
    copies = [
        replace(chunk, chunk_id=f"{chunk.chunk_id}-{copy}" if copy and chunk.chunk_id else chunk.chunk_id)
        for chunk in response.chunks
        for copy in range(times)
    ]
    return ranked(response, copies[: len(response.chunks)])


def without(response: Response, lost: Callable[[Chunk], bool], cited: AbstractSet[Note] = frozenset()) -> Response:
    """Return no chunk that is lost; those below move up. Nothing cites the notes `cited` any more."""
    kept = tuple(place for place in response.references if (place.vault, place.rel_path) not in cited)
    return replace(ranked(response, [chunk for chunk in response.chunks if not lost(chunk)]), references=kept)


def of_notes(notes: AbstractSet[Note]) -> Callable[[Chunk], bool]:
    """Return whether a chunk is from one of these notes; of a chunk without a vault its path alone decides."""
    paths = {path for _, path in notes}

    def holds(chunk: Chunk) -> bool:
        return chunk.rel_path in paths if chunk.vault is None else (chunk.vault, chunk.rel_path) in notes

    return holds
