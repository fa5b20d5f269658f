"""A retrieved list without its text, short enough for a baseline: what later runs look for causes in. Pure."""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from raggate.models.run import LabelledResult
from raggate.models.scorecard import ListEntry
from raggate.text.anchors import elements


def list_entries(item: LabelledResult, depth: int) -> tuple[ListEntry, ...]:
    """Return the first `depth` places of a list, by rank: repeated chunks hold none."""
    response, dropped = item.result.response, set(item.labels.duplicates)
    chunks = response.chunks[: depth + len(dropped)] if response else ()
    kept = [place for place in enumerate(chunks) if place[0] not in dropped]
    return tuple(
        ListEntry(
            note=short_hash(chunk.rel_path),
            chunk=short_hash(chunk.chunk_id),
            final=chunk.score_final,
            vector=chunk.score_vector,
            lexical=chunk.score_lexical,
            supports=item.labels.matches[position],
            heading=heading_hash(chunk.heading_path),
        )
        for position, chunk in kept[:depth]
    )


@lru_cache(maxsize=1 << 14)
def heading_hash(path: str) -> str:
    """Return eight hex digits of a heading path, whatever marks it is written with; none of an empty one."""
    return short_hash(" > ".join(elements(path)))


@lru_cache(maxsize=1 << 14)  # an index has fewer chunks than a run has places, and each is looked at several times
def short_hash(name: str) -> str:
    """Return eight hex digits of a name, none of an empty one. It tells names apart; it hides nothing."""
    return f"{crc32(name.encode('utf-8', 'surrogatepass')):08x}" if name else ""
