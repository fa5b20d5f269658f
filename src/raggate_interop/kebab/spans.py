"""Where kebab's chunks stand in their documents: spans in, overlaps and the ranks of hits that meet a label out.

Chunk ids change with the chunker, spans of the source do not. A span is `{"kind": "line", "start": 3, "end": 9}`, both
ends included; code has `line_start` and `line_end`, time `start_ms` and `end_ms`, a page only `page`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from raggate_interop.kebab.golden import GoldenQuery
from raggate_interop.kebab.metrics import Row

MIN_OVERLAP = 0.5

_ENDS = {
    "line": ("start", "end"),
    "code": ("line_start", "line_end"),
    "time": ("start_ms", "end_ms"),
    "page": ("page", "page"),
}

Span = tuple[str, int, int]


class ChunkSpans(Struct, frozen=True):
    """Where a chunk stands: its document and its spans."""

    doc_id: str
    spans: tuple[Span, ...]


def read_spans(raw: object) -> tuple[Span, ...]:
    """Read spans that have a beginning and an end; others, and what is no span, are left out."""
    spans = []
    for item in raw if isinstance(raw, Sequence) else ():
        if not isinstance(item, Mapping) or item.get("kind") not in _ENDS:
            continue
        kind = str(item["kind"])
        start, end = (item.get(name) for name in _ENDS[kind])
        # lines and pages count from 1, and 0 stands for one that is not known
        if type(start) is int and type(end) is int and start <= end and (start or kind == "time"):
            spans.append((kind, start, end))
    return tuple(spans)


def spans_of(hit: Mapping[str, Any]) -> ChunkSpans | None:
    """Return the place of a hit by its `source_spans`, or else by its citation."""
    spans = read_spans(hit.get("source_spans")) or read_spans([hit.get("citation")])
    return ChunkSpans(hit["doc_id"], spans) if spans else None


def labelled_spans(
    rows: Iterable[Row], queries: Iterable[GoldenQuery], stored: Mapping[str, ChunkSpans]
) -> dict[str, ChunkSpans]:
    """Find where the labelled chunks stand: in the stored chunks, or in a hit of any row."""
    wanted = {name for query in queries for name in query.expected_chunk_ids}
    by_chunk = {name: place for name, place in stored.items() if name in wanted and place.spans}
    for row in rows:
        for hit in row["hits_top_k"]:
            if hit["chunk_id"] in wanted and (place := spans_of(hit)) is not None:
                by_chunk.setdefault(hit["chunk_id"], place)
    return by_chunk


def carry_spans(rows: Iterable[Row], queries: Mapping[str, GoldenQuery], chunk_spans: Mapping[str, ChunkSpans]) -> bool:
    """Return whether spans decide everywhere: every hit has one, and the place of every labelled chunk is known."""
    rows = [row for row in rows if row["query_id"] in queries]
    asked = [queries[row["query_id"]] for row in rows]
    return all(spans_of(hit) is not None for row in rows for hit in row["hits_top_k"]) and all(
        name in chunk_spans for query in asked for name in query.expected_chunk_ids
    )


def span_rank(row: Row, query: GoldenQuery, chunk_spans: Mapping[str, ChunkSpans]) -> int | None:
    """Return the best rank of a hit of an expected document that overlaps a labelled chunk of it by half or more."""
    gold = [chunk_spans[name] for name in query.expected_chunk_ids if name in chunk_spans]
    documents = frozenset(query.expected_doc_ids) or {place.doc_id for place in gold}
    return min((hit["rank"] for hit in row["hits_top_k"] if _meets(hit, gold, documents)), default=None)


def overlap(hit: Sequence[Span], gold: Sequence[Span]) -> float:
    """Return the share of the gold spans, in lines (or pages, or milliseconds), that the hit covers."""
    total = sum(end - start + 1 for _, start, end in gold)
    return sum(_covered(span, hit) for span in gold) / total if total else 0.0


def _meets(hit: Mapping[str, Any], gold: Iterable[ChunkSpans], documents: Iterable[str]) -> bool:
    place = spans_of(hit)
    if place is None or place.doc_id not in documents:
        return False
    return any(
        overlap(place.spans, [span]) >= MIN_OVERLAP
        for gold_spans in gold
        if gold_spans.doc_id == place.doc_id
        for span in gold_spans.spans
    )


def _covered(span: Span, by: Iterable[Span]) -> int:
    """Count what of a span is covered, by whichever spans, each unit once."""
    kind, start, end = span
    pieces = sorted((max(start, low), min(end, high)) for other, low, high in by if other == kind)
    covered, reached = 0, start - 1
    for low, high in pieces:
        if high > reached:
            covered += high - max(low, reached + 1) + 1
            reached = high
    return covered
