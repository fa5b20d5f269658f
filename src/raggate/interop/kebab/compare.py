"""Two runs of kebab held against each other as it does: rows and golden queries in, its `CompareReport` as JSON out.

Beside its own keys the report has one more, `raggate`: what kebab does not tell, such as which aggregates cannot be
compared because the chunker changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from raggate.errors import CannotTell
from raggate.interop.kebab.metrics import (
    CHUNK_LEVEL,
    METRICS,
    RANKED,
    Queries,
    Query,
    Row,
    Rules,
    aggregate,
    counts,
    delta,
    first_rank,
    ranked,
)
from raggate.interop.kebab.spans import ChunkSpans, carry_spans, labelled_spans, span_rank
from raggate.text.quote import cut

Match = Literal["exact", "fallback_doc", "fallback_doc_span"]
Report = dict[str, Any]

SETTINGS = (
    "chunker_version",
    "embedding",
    "llm",
    "prompt_template_version",
    "eval_k",
    "score_gate",
    "rrf_k",
    "index_version",
)
"""Keys of `config_snapshot_json` whose differences are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One run: its id, its `config_snapshot_json` (empty when it is not known) and its rows."""

    run_id: str
    rows: Sequence[Row]
    snapshot: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compare. The defaults are what their code does, but for spans, which it never got to.

    Attributes:
        rules: how aggregates are computed.
        strict_chunker_version: refuse runs of different chunkers.
        fallback: how hits are matched when chunkers differ: `auto` by spans when both runs carry them and else by
            document, `doc` by document always, as their code does.
        kinds: `code` calls every hit that became a miss a regression and every worse rank a loss; `spec` calls it a
            regression when the labelled chunk that was found is not found any more, and else a loss.
        chunk_spans: where stored chunks stand, by chunk id.
    """

    rules: Rules = field(default_factory=Rules)
    strict_chunker_version: bool = False
    fallback: Literal["auto", "doc"] = "auto"
    kinds: Literal["code", "spec"] = "code"
    chunk_spans: Mapping[str, ChunkSpans] = field(default_factory=dict)


def compare(a: Side, b: Side, queries: Queries, options: Options | None = None) -> Report:
    """Compare run b with run a, both scored by the same golden queries.

    Raises:
        CannotTell: with `strict_chunker_version`, when the chunkers differ.
    """
    options = options or Options()
    both = [*a.rows, *b.rows]
    chunk_spans = labelled_spans(both, queries.values(), options.chunk_spans)
    match = _match(a, b, queries, chunk_spans, options)
    per_query = _per_query(a, b, queries, match, chunk_spans, options)
    aggregates = [aggregate(side.rows, queries, options.rules) for side in (a, b)]
    return {
        "run_a": a.run_id,
        "run_b": b.run_id,
        "aggregate_a": aggregates[0],
        "aggregate_b": aggregates[1],
        "deltas": {**_deltas(*aggregates), "chunker_version_match": match},
        "per_query": per_query,
        "raggate": {
            **_extras(a, b, queries, match, per_query),
            "common": _common(a, b, queries, match, per_query, options.rules),
        },
    }


def chunker_version(side: Side) -> str | None:
    """Name the chunker of a run: what its snapshot says, or else every version that its hits name, set apart."""
    recorded = side.snapshot.get("chunker_version")
    if isinstance(recorded, str):
        return recorded
    versions = _chunkers(side)
    named = [
        *sorted(version for version in versions if version is not None),
        *(["unknown"] if None in versions else []),
    ]
    return ", ".join(named) if versions != {None} and named else None


def same_chunkers(a: Side, b: Side) -> bool:
    """Say whether two runs are of the same chunkers, by their snapshots or else by the versions that their hits name.

    What no hit names is taken to be the same only where no hit of either run names any.
    """
    recorded = [side.snapshot.get("chunker_version") for side in (a, b)]
    if all(isinstance(version, str) for version in recorded):
        return bool(recorded[0] == recorded[1])
    versions = [_chunkers(side) for side in (a, b)]
    if not any(versions[0] | versions[1]):
        return True
    return versions[0] == versions[1] and None not in versions[0]


def _chunkers(side: Side) -> frozenset[str | None]:
    """Give the versions that hits name, None among them for a hit that names none; without any, the snapshot's."""
    versions = {
        version if isinstance(version := hit.get("chunker_version"), str) else None
        for row in side.rows
        for hit in row["hits_top_k"]
    }
    recorded = side.snapshot.get("chunker_version")
    return frozenset([recorded]) if isinstance(recorded, str) and not any(versions) else frozenset(versions)


def _match(a: Side, b: Side, queries: Queries, chunk_spans: Mapping[str, ChunkSpans], options: Options) -> Match:
    if same_chunkers(a, b):
        return "exact"
    if options.strict_chunker_version:
        before, after = chunker_version(a), chunker_version(b)
        raise CannotTell(
            f"the runs are of different chunkers: {cut(before)} and {cut(after)}",
            hint="Without --strict-chunker-version hits are matched by document, and where it is known by place.",
        )
    spans = options.fallback == "auto" and carry_spans([*a.rows, *b.rows], queries, chunk_spans)
    # without a single labelled chunk that has a place there is nothing that spans could decide
    return "fallback_doc_span" if spans and chunk_spans else "fallback_doc"


def _rank(row: Row | None, query: Query | None, match: Match, chunk_spans: Mapping[str, ChunkSpans]) -> int | None:
    if row is None or query is None:
        return None
    if match == "exact" and query.expected_chunk_ids:
        return first_rank(row, "chunk_id", query.expected_chunk_ids)
    if match == "fallback_doc_span" and query.expected_chunk_ids:
        return span_rank(row, query, chunk_spans)
    return first_rank(row, "doc_id", query.expected_doc_ids)


def _per_query(
    a: Side, b: Side, queries: Queries, match: Match, chunk_spans: Mapping[str, ChunkSpans], options: Options
) -> list[dict[str, Any]]:
    sides = [{row["query_id"]: row for row in side.rows} for side in (a, b)]
    entries = []
    for query_id in sorted(sides[0].keys() | sides[1].keys()):
        query = queries.get(query_id)
        rows = [side.get(query_id) for side in sides]
        before, after = (_rank(row, query, match, chunk_spans) for row in rows)
        lost = options.kinds == "code"
        if not lost and match == "exact" and query is not None and rows[0] is not None:
            lost = _lost_chunk(rows[0], rows[1], query)
        kind, note = _classify(before, after, lost=lost, spec=options.kinds == "spec")
        entries.append({"query_id": query_id, "kind": kind, "a_hit_rank": before, "b_hit_rank": after, "note": note})
    return entries


def _lost_chunk(before: Row, after: Row | None, query: Query) -> bool:
    """Say whether the first labelled chunk that was found is not found any more."""
    wanted = frozenset(query.expected_chunk_ids)
    hits = sorted((hit["rank"], hit["chunk_id"]) for hit in before["hits_top_k"] if hit["chunk_id"] in wanted)
    still = {hit["chunk_id"] for hit in after["hits_top_k"]} if after is not None else set()
    return bool(hits) and hits[0][1] not in still


def _classify(before: int | None, after: int | None, *, lost: bool, spec: bool) -> tuple[str, str | None]:
    if before is not None and after is None:
        return "regression" if lost else "loss", "hit→miss"
    if after is None:
        return "draw", None
    if before is None:
        return "win", None
    note = None if before == after else f"rank {before}→{after}"
    if spec and lost:
        return "regression", note
    return ("draw" if before == after else "win" if after < before else "loss"), note


def _deltas(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {k: delta(a[name].get(k), b[name].get(k)) for k in b[name]} if name in RANKED else delta(a[name], b[name])
        for name in METRICS
        if name in b
    }


def _extras(a: Side, b: Side, queries: Queries, match: Match, per_query: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ids = [{row["query_id"] for row in side.rows} for side in (a, b)]
    extras: dict[str, Any] = {
        "not_comparable": [] if match == "exact" else list(CHUNK_LEVEL),
        "only_in_a": sorted(ids[0] - ids[1]),
        "only_in_b": sorted(ids[1] - ids[0]),
        "without_golden_query": sorted((ids[0] | ids[1]) - queries.keys()),
        "settings": {
            key: [before, after]
            for key in SETTINGS
            if (before := _setting(a, key)) != (after := _setting(b, key))
            and not (key == "chunker_version" and same_chunkers(a, b))
        },
    }
    if match != "exact":
        # of the questions that can be matched this way, on both sides
        matched = [row for row in per_query if _is_labelled(queries.get(row["query_id"]), match)]
        extras["fallback_a"] = ranked([row["a_hit_rank"] for row in matched if row["query_id"] in ids[0]])
        extras["fallback_b"] = ranked([row["b_hit_rank"] for row in matched if row["query_id"] in ids[1]])
    return extras


def _common(
    a: Side, b: Side, queries: Queries, match: Match, per_query: Sequence[Mapping[str, Any]], rules: Rules
) -> dict[str, Any]:
    """Say what can be told of the queries that are in both runs: how many, what of them is measured, and the change."""
    sides = [{row["query_id"]: row for row in side.rows} for side in (a, b)]
    both = sides[0].keys() & sides[1].keys()
    labelled = {query_id: queries[query_id] for query_id in sorted(both & queries.keys())}
    rows = [[row for row in side.rows if row["query_id"] in both] for side in (a, b)]
    matched = [row for row in per_query if _is_labelled(labelled.get(row["query_id"]), match)]
    ranks = [ranked([row[f"{side}_hit_rank"] for row in matched]) for side in "ab"]
    return {
        "queries": len(labelled),
        "matched": len(matched),
        "unmatchable": [
            query_id
            for query_id, query in labelled.items()
            if _is_labelled(query, "exact") and not _is_labelled(query, match)
        ],
        "unanswered": [
            query_id
            for query_id in labelled
            if sides[0][query_id].get("answer") is not None
            and sides[1][query_id].get("answer") is None
            and sides[1][query_id].get("error") is None
        ],
        **{f"counts_{name}": counts(side_rows, queries, rules) for name, side_rows in zip("ab", rows, strict=True)},
        "deltas": _deltas(*(aggregate(side_rows, queries, rules) for side_rows in rows)),
        "fallback_deltas": {} if match == "exact" else _deltas(*ranks),
    }


def _is_labelled(query: Query | None, match: Match) -> bool:
    """Say whether a query has labels that this way of matching can use."""
    if query is None:
        return False
    return bool(query.expected_doc_ids or (match != "fallback_doc" and query.expected_chunk_ids))


def _setting(side: Side, key: str) -> Any:
    return chunker_version(side) if key == "chunker_version" else side.snapshot.get(key)
