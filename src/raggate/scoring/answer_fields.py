"""Which optional fields an API tells in which mode, so that one that vanishes is not quietly done without. Pure.

An invariant holds where the API tells nothing to hold it against. So a field that every answer behind the baseline had,
and that is gone, leaves something unchecked that was checked before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from raggate.models.run import Chunk, LabelledResult, Response
from raggate.models.scorecard import EPSILON

Counts = dict[str, dict[str, list[int]]]
"""By mode and field: how many answers told it, of how many that could have."""

# what a chunk is: one that does not tell could be any
_OF_EACH_CHUNK: dict[str, Callable[[Chunk], object]] = {
    "chunk_id": lambda chunk: chunk.chunk_id,
    "doc_id": lambda chunk: chunk.doc_id,
    "vault": lambda chunk: chunk.vault is not None,
}
_OF_CHUNKS: dict[str, Callable[[Chunk], object]] = {
    "heading_path": lambda chunk: chunk.heading_path.strip(),
    "rank": lambda chunk: chunk.rank is not None,
    "score_final": lambda chunk: chunk.score_final is not None,
    "score_lexical": lambda chunk: chunk.score_lexical is not None,
    "score_vector": lambda chunk: chunk.score_vector is not None,
}
_OF_COVERAGE = ("chunker_version", "chunks_embedded", "docs_processed", "docs_with_0_chunks", "index_version")
_OF_ANSWERS: dict[str, Callable[[Response], object]] = {
    "available_folders": lambda response: response.available_folders is not None,
    "grounded": lambda response: response.grounded is not None,
    "selected_folders": lambda response: response.selected_folders is not None,
}


class Lost(Struct, frozen=True, kw_only=True):
    """A field that all but a few answers behind the baseline told, and too many do not now.

    Attributes:
        mode: the mode that they were asked in.
        field: its name.
        before: how many answers behind the baseline told it, and how many could have.
        now: the same of the run. It may be more answers than before, of yet more that could have.
    """

    mode: str
    field: str
    before: tuple[int, int]
    now: tuple[int, int]


def count(item: LabelledResult, counted: Counts) -> None:
    """Count by mode and field whether an answer tells it, and whether it could. A failed call counts for neither.

    A field of chunks could be told by an answer that has chunks. It is told by one chunk of them that does, but what
    identifies a chunk only by all of them.
    """
    if item.result.response is None:
        return
    fields = counted.setdefault(item.result.mode, {})
    for name, is_told in _fields_of(item, item.result.response):
        entry = fields.setdefault(name, [0, 0])
        entry[0] += is_told
        entry[1] += 1


def lost(before: object, now: object, allowed: float) -> Iterator[Lost]:
    """Name the fields that are told no more.

    Args:
        before: the counts of the baseline; None, or anything else, where they were not kept.
        allowed: the share of answers in which a field may be missing and still count as told.
    """
    for mode, fields in _counts_in(now).items():
        for name, (filled_now, answers) in fields.items():
            filled_before, answers_before = _counts_in(before).get(mode, {}).get(name, (0, 0))
            missing = answers - filled_now
            if _all_filled(filled_before, answers_before, allowed) and missing > allowed * answers + EPSILON:
                yield Lost(mode=mode, field=name, before=(filled_before, answers_before), now=(filled_now, answers))


def known(stored: object, allowed: float) -> frozenset[tuple[str, str]]:
    """Name by mode the fields that a baseline has answers tell: of these, one that is told no more is noticed.

    Args:
        stored: the counts of the baseline; None, or anything else, where they were not kept.
        allowed: as of `lost`.
    """
    return frozenset(
        (mode, name)
        for mode, fields in _counts_in(stored).items()
        for name, (filled, answers) in fields.items()
        if _all_filled(filled, answers, allowed)
    )


def never_told(stored: object, field: str) -> bool:
    """Return whether a field was told by no answer of any mode, though there were some that could have.

    Args:
        stored: the counts of a baseline; None, or anything else, where they were not kept.
    """
    counts = [fields[field] for fields in _counts_in(stored).values() if field in fields]
    return any(answers for _, answers in counts) and not any(filled for filled, _ in counts)


def _all_filled(filled: int, answers: int, allowed: float) -> bool:
    return answers > 0 and answers - filled <= allowed * answers + EPSILON


def _fields_of(item: LabelledResult, response: Response) -> Iterator[tuple[str, bool]]:
    if response.chunks:
        for name, value in _OF_EACH_CHUNK.items():
            yield name, all(map(value, response.chunks))
        for name, value in _OF_CHUNKS.items():
            yield name, any(map(value, response.chunks))
        # what is on disk is cut, and may look otherwise
        yield "text", len(item.labels.empty) < len(response.chunks)
    for name in _OF_COVERAGE:
        yield f"indexing_coverage.{name}", name in (response.coverage or {})
    for name, of_answer in _OF_ANSWERS.items():
        yield name, bool(of_answer(response))


def _counts_in(stored: Any) -> dict[str, dict[str, tuple[int, int]]]:
    """Read counts that may come from a file."""
    if not isinstance(stored, dict):
        return {}
    return {
        mode: {
            name: (entry[0], entry[1])
            for name, entry in fields.items()
            if isinstance(entry, list) and len(entry) == 2 and all(type(number) is int for number in entry)
        }
        for mode, fields in stored.items()
        if isinstance(fields, dict)
    }
