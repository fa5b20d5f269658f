"""kebab's own numbers, bit for bit: result rows and golden queries in, its `AggregateMetrics` as JSON values out.

Its definitions differ from raggate's: ranks are those the rows claim, precision divides by a fixed k, a query without
`expected_doc_ids` should be refused, most means over nothing are 0.0. A row is a JSON object as kebab stores it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from raggate.base.numbers import setting
from raggate_interop.kebab.golden import GoldenQuery

Row = Mapping[str, Any]
Queries = Mapping[str, GoldenQuery]
Aggregate = dict[str, Any]

CUTOFFS = (1, 3, 5, 10)
"""The k of every metric at k."""

MRR_DEPTH = 10
TOLERANCE = 1e-6
"""Two values of theirs are equal within this: they are 32-bit floats."""

RANKED = ("hit_at_k", "recall_at_k_doc", "precision_at_k_chunk")
CHUNK_LEVEL = ("hit_at_k", "mrr", "precision_at_k_chunk")
"""What cannot be compared between runs of different chunkers."""

ANSWER_LEVEL = ("citation_coverage", "groundedness", "refusal_correctness")
"""What is measured of answers."""

LOWER_IS_BETTER = frozenset(("empty_result_rate",))
METRICS = (
    *("hit_at_k", "mrr", "recall_at_k_doc", "precision_at_k_chunk"),
    *("citation_coverage", "groundedness", "empty_result_rate", "refusal_correctness"),
)
"""Every metric, in the order of their report."""

_STEPS = 10_000.0

MIN_OVERLAP = 0.5
_ENDS = {
    "line": ("start", "end"),
    "code": ("line_start", "line_end"),
    "time": ("start_ms", "end_ms"),
    "page": ("page", "page"),
}
Span = tuple[str, int, int]


class Rules(Struct, frozen=True, kw_only=True):
    """Where their document and their code differ. The defaults are the code's.

    Attributes:
        paths: every document path of the index. A citation then counts only when its path is one of them; with None
            any path that is not empty counts.
        refusals: `unlabelled` takes every query without `expected_doc_ids` for one that should be refused; `declared`
            those that say `answerable: false`, and only for the rest what is unlabelled.
        groundedness: `code` takes every answer that can be judged; `spec` leaves out those of queries that should be
            refused, which count in `refusal_correctness` alone.
    """

    paths: Container[str] | None = None
    refusals: Literal["unlabelled", "declared"] = "unlabelled"
    groundedness: Literal["code", "spec"] = "code"


def aggregate(rows: Sequence[Row], queries: Queries, rules: Rules | None = None) -> Aggregate:
    """Compute every metric of a run, rounded as they store it.

    Args:
        rows: the stored rows. One without a golden query counts only in total, failed and empty.

    Returns:
        `hit_at_k` and the like by k as text. Over nothing, citation_coverage and refusal_correctness are None and all
        else is 0.0.
    """
    rules = rules or Rules()
    pairs = _with_query(rows, queries)
    labelled = [(row, query) for row, query in pairs if query.expected_chunk_ids]
    ranks = [first_rank(row, "chunk_id", query.expected_chunk_ids) for row, query in labelled]
    documented = [(row, query) for row, query in pairs if query.expected_doc_ids]
    return {
        **ranked(ranks),
        "recall_at_k_doc": {
            str(k): _mean([doc_recall(row, query.expected_doc_ids, k) for row, query in documented]) for k in CUTOFFS
        },
        "precision_at_k_chunk": {
            str(k): _mean([_hits_within(row, query.expected_chunk_ids, k) / k for row, query in labelled])
            for k in CUTOFFS
        },
        "citation_coverage": _share(_flags(pairs, "citation_coverage", rules)),
        "groundedness": _share(_flags(pairs, "groundedness", rules)) or 0.0,
        "empty_result_rate": _mean([float(not row["hits_top_k"]) for row in rows]),
        "refusal_correctness": _share(_flags(pairs, "refusal_correctness", rules)),
        "total_queries": len(rows),
        "failed_queries": sum(row.get("error") is not None for row in rows),
    }


def counts(rows: Sequence[Row], queries: Queries, rules: Rules | None = None) -> dict[str, int]:
    """The number of rows behind each mean of `aggregate`, which is 0.0 over no rows."""
    rules = rules or Rules()
    pairs = _with_query(rows, queries)
    return {
        **dict.fromkeys(CHUNK_LEVEL, sum(bool(query.expected_chunk_ids) for _, query in pairs)),
        "recall_at_k_doc": sum(bool(query.expected_doc_ids) for _, query in pairs),
        "empty_result_rate": len(rows),
        **{name: len(_flags(pairs, name, rules)) for name in ANSWER_LEVEL},
    }


def ranked(ranks: Sequence[int | None]) -> Aggregate:
    """Return `hit_at_k` and `mrr` of the ranks of each query's first hit, None for a miss."""
    hits = {str(k): _mean([float(rank is not None and rank <= k) for rank in ranks]) for k in CUTOFFS}
    return {"hit_at_k": hits, "mrr": _mean([1 / rank if rank and rank <= MRR_DEPTH else 0.0 for rank in ranks])}


def first_rank(row: Row, key: str, expected: Iterable[str]) -> int | None:
    """Return the smallest rank of a hit whose `key` is expected, however deep it stands."""
    wanted = frozenset(expected)
    return min((hit["rank"] for hit in row["hits_top_k"] if hit[key] in wanted), default=None)


def doc_recall(row: Row, expected: Iterable[str], k: int) -> float:
    """Return the share of the expected documents among the hits of rank k or better."""
    wanted = frozenset(expected)
    return len(wanted & {hit["doc_id"] for hit in row["hits_top_k"] if hit["rank"] <= k}) / len(wanted)


def answer_ok(row: Row, query: GoldenQuery) -> bool | None:
    """Return whether the answer holds every text it must and none it must not; None where there is nothing to judge."""
    answer = row.get("answer")
    if answer is None or row.get("error") is not None or not (query.must_contain or query.forbidden):
        return None
    text = answer["answer"]
    return all(part in text for part in query.must_contain) and not any(part in text for part in query.forbidden)


def round_stored(value: float) -> float:
    """Round a value that is not negative to 4 decimals, half away from zero, in the steps of their 64-bit arithmetic.

    The product is rounded, not the decimal that the value prints as: 3167/4000 gives 0.7917.
    """
    scaled = value * _STEPS
    whole = math.floor(scaled)
    return (whole + (scaled - whole >= 0.5)) / _STEPS


def single(value: float) -> float:
    """Return the 32-bit float next to a value."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def shortest(value: float) -> float:
    """Return the number with the fewest digits that is the same 32-bit float: what they print."""
    target = single(value)
    return next(short for digits in range(1, 18) if single(short := float(f"{target:.{digits}g}")) == target)


def delta(before: float | None, after: float | None) -> float | None:
    """Return the difference of two stored values as theirs comes out: taken in 32 bits, printed in 64."""
    return None if before is None or after is None else single(single(after) - single(before))


def differences(stored: Mapping[str, Any], computed: Aggregate) -> list[str]:
    """Name what a stored `aggregate_json` has otherwise, beyond the tolerance; what it lacks is no difference."""
    lines = []
    for name, now in flat(computed).items():
        before = flat(stored).get(name, now)
        same = before == now if before is None or now is None else abs(before - now) <= TOLERANCE
        if not same:
            lines.append(f"{name}: stored {_formatted(before)}, computed {_formatted(now)}")
    return lines


def flat(values: Mapping[str, Any]) -> dict[str, float | None]:
    """Return every number of an aggregate under one name, such as `hit_at_5` or `recall_at_3_doc`."""
    numbers: dict[str, float | None] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            head, _, tail = name.partition("_at_k")
            numbers.update({f"{head}_at_{k}{tail}": number for k, number in value.items() if _is_number(number)})
        elif value is None or _is_number(value):
            numbers[name] = value
    return numbers


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _formatted(value: float | None) -> str:
    return "null" if value is None else setting(value)


def _hits_within(row: Row, expected: Iterable[str], k: int) -> int:
    # hits, not distinct chunks: a chunk that occurs twice counts twice, as theirs does
    wanted = frozenset(expected)
    return sum(hit["rank"] <= k and hit["chunk_id"] in wanted for hit in row["hits_top_k"])


def _cited(row: Row, paths: Container[str] | None) -> bool | None:
    answer = row.get("answer")
    if answer is None or row.get("error") is not None or not answer["grounded"]:
        return None
    cited = [item["citation"]["path"] for item in answer["citations"]]
    return bool(cited) and all(path and (paths is None or path in paths) for path in cited)


def _refused(row: Row, query: GoldenQuery, rules: Rules) -> bool | None:
    answer = row.get("answer")
    return None if answer is None or not _to_refuse(query, rules) else not answer["grounded"]


def _grounded(row: Row, query: GoldenQuery, rules: Rules) -> bool | None:
    excluded = rules.groundedness == "spec" and _to_refuse(query, rules)
    return None if excluded else answer_ok(row, query)


def _to_refuse(query: GoldenQuery, rules: Rules) -> bool:
    if rules.refusals == "declared" and query.answerable is not None:
        return not query.answerable
    return not query.expected_doc_ids


def _with_query(rows: Iterable[Row], queries: Queries) -> list[tuple[Row, GoldenQuery]]:
    return [(row, query) for row in rows if (query := queries.get(row["query_id"])) is not None]


def _flags(pairs: Iterable[tuple[Row, GoldenQuery]], name: str, rules: Rules) -> list[bool]:
    """Measure the answers by one of the metrics of answers; those it does not apply to are left out."""
    flag_of: Callable[[Row, GoldenQuery], bool | None] = {
        "citation_coverage": lambda row, _: _cited(row, rules.paths),
        "groundedness": lambda row, query: _grounded(row, query, rules),
        "refusal_correctness": lambda row, query: _refused(row, query, rules),
    }[name]
    return [flag for row, query in pairs if (flag := flag_of(row, query)) is not None]


def _share(flags: Sequence[bool]) -> float | None:
    return round_stored(sum(flags) / len(flags)) if flags else None


def _mean(values: Sequence[float]) -> float:
    # summed one after the other, as theirs is: fsum would be exact and so differ
    total = 0.0
    for value in values:
        total += value
    return round_stored(total / len(values)) if values else 0.0


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
