"""Two runs of kebab held against each other as it does: rows and golden queries in, its `CompareReport` as JSON out.

Beside its own keys the report has one more, `raggate`: what kebab does not tell, such as which aggregates cannot be
compared because the chunker changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from raggate.base.errors import CannotTell, ExitCode
from raggate.base.numbers import counted, fixed, percent, setting
from raggate.base.quote import cut
from raggate_interop.kebab.golden import GoldenQuery
from raggate_interop.kebab.metrics import (
    ANSWER_LEVEL,
    CHUNK_LEVEL,
    LOWER_IS_BETTER,
    METRICS,
    RANKED,
    TOLERANCE,
    ChunkSpans,
    Queries,
    Row,
    Rules,
    aggregate,
    carry_spans,
    counts,
    delta,
    first_rank,
    flat,
    labelled_spans,
    ranked,
    span_rank,
)
from raggate_interop.kebab.rows import StoredRun

Kinds = Literal["code", "spec"]
Match = Literal["exact", "fallback_doc", "fallback_doc_span"]
Report = dict[str, Any]

SETTINGS = (
    *("chunker_version", "embedding", "llm", "prompt_template_version"),
    *("eval_k", "score_gate", "rrf_k", "index_version"),
)
"""Keys of `config_snapshot_json` whose differences are reported."""

MAX_DROP = 0.05
MAX_ERROR_RATE = 0.02


class Options(Struct, frozen=True, kw_only=True):
    """How to compare. The defaults are what their code does, but for spans, which it never got to.

    Attributes:
        fallback: how hits are matched when chunkers differ: `auto` by spans when both runs carry them and else by
            document, `doc` by document always, as their code does.
        kinds: `code` calls every hit that became a miss a regression and every worse rank a loss; `spec` calls it a
            regression when the labelled chunk that was found is not found any more, and else a loss.
    """

    rules: Rules = field(default_factory=Rules)
    strict_chunker_version: bool = False
    fallback: Literal["auto", "doc"] = "auto"
    kinds: Kinds = "code"
    chunk_spans: Mapping[str, ChunkSpans] = field(default_factory=dict)


class _Pair(Struct, frozen=True, kw_only=True):
    """What is compared: the rows of both runs by query, run a first, and how their hits are matched."""

    rows: tuple[Mapping[str, Row], Mapping[str, Row]]
    queries: Queries
    match: Match
    chunk_spans: Mapping[str, ChunkSpans]

    def is_labelled(self, query_id: str, match: Match) -> bool:
        """Whether a query has labels that this way of matching can use."""
        query = self.queries.get(query_id)
        if query is None:
            return False
        return bool(query.expected_doc_ids or (match != "fallback_doc" and query.expected_chunk_ids))


def compare(a: StoredRun, b: StoredRun, queries: Queries, options: Options | None = None) -> Report:
    """Compare run b with run a, both scored by the same golden queries."""
    options = options or Options()
    chunk_spans = labelled_spans([*a.rows, *b.rows], queries.values(), options.chunk_spans)
    match = _match(a, b, queries, chunk_spans, options)
    rows_a, rows_b = ({row["query_id"]: row for row in run.rows} for run in (a, b))
    pair = _Pair(rows=(rows_a, rows_b), queries=queries, match=match, chunk_spans=chunk_spans)
    per_query = _per_query(pair, options.kinds)
    aggregates = [aggregate(run.rows, queries, options.rules) for run in (a, b)]
    return {
        "run_a": a.run_id,
        "run_b": b.run_id,
        "aggregate_a": aggregates[0],
        "aggregate_b": aggregates[1],
        "deltas": {**_deltas(*aggregates), "chunker_version_match": match},
        "per_query": per_query,
        "raggate": {
            **_extras(pair, per_query),
            "settings": _settings(a, b),
            "common": _common(pair, per_query, options.rules),
        },
    }


def chunker_version(run: StoredRun) -> str | None:
    """Name the chunker of a run: what its snapshot says, or else every version that its hits name, set apart."""
    recorded = run.snapshot.get("chunker_version")
    if isinstance(recorded, str):
        return recorded
    versions = _chunkers(run)
    named = [
        *sorted(version for version in versions if version is not None),
        *(["unknown"] if None in versions else []),
    ]
    return ", ".join(named) if versions != {None} and named else None


def same_chunkers(a: StoredRun, b: StoredRun) -> bool:
    """Whether two runs are of the same chunkers, by their snapshots or else by the versions that their hits name.

    What no hit names is taken to be the same only where no hit of either run names any.
    """
    recorded = [run.snapshot.get("chunker_version") for run in (a, b)]
    if all(isinstance(version, str) for version in recorded):
        return bool(recorded[0] == recorded[1])
    versions = [_chunkers(run) for run in (a, b)]
    if not any(versions[0] | versions[1]):
        return True
    return versions[0] == versions[1] and None not in versions[0]


def _chunkers(run: StoredRun) -> frozenset[str | None]:
    """Return the versions that hits name, None among them for a hit that names none; without any, the snapshot's."""
    versions = {
        version if isinstance(version := hit.get("chunker_version"), str) else None
        for row in run.rows
        for hit in row["hits_top_k"]
    }
    recorded = run.snapshot.get("chunker_version")
    return frozenset([recorded]) if isinstance(recorded, str) and not any(versions) else frozenset(versions)


def _match(
    a: StoredRun, b: StoredRun, queries: Queries, chunk_spans: Mapping[str, ChunkSpans], options: Options
) -> Match:
    if same_chunkers(a, b):
        return "exact"
    if options.strict_chunker_version:
        before, after = chunker_version(a), chunker_version(b)
        raise CannotTell(
            f"the runs are of different chunkers: {cut(before)} and {cut(after)}",
            hint="Remove --strict-chunker-version to match hits by document, and by place if it is known.",
        )
    spans = options.fallback == "auto" and carry_spans([*a.rows, *b.rows], queries, chunk_spans)
    # without a single labelled chunk that has a place there is nothing that spans could decide
    return "fallback_doc_span" if spans and chunk_spans else "fallback_doc"


def _rank(row: Row | None, query: GoldenQuery | None, pair: _Pair) -> int | None:
    if row is None or query is None:
        return None
    if pair.match == "exact" and query.expected_chunk_ids:
        return first_rank(row, "chunk_id", query.expected_chunk_ids)
    if pair.match == "fallback_doc_span" and query.expected_chunk_ids:
        return span_rank(row, query, pair.chunk_spans)
    return first_rank(row, "doc_id", query.expected_doc_ids)


def _per_query(pair: _Pair, kinds: Kinds) -> list[dict[str, Any]]:
    entries = []
    for query_id in sorted(pair.rows[0].keys() | pair.rows[1].keys()):
        query = pair.queries.get(query_id)
        rows = [side.get(query_id) for side in pair.rows]
        before, after = (_rank(row, query, pair) for row in rows)
        lost = kinds == "code"
        if not lost and pair.match == "exact" and query is not None and rows[0] is not None:
            lost = _lost_chunk(rows[0], rows[1], query)
        kind, note = _classify(before, after, lost=lost, spec=kinds == "spec")
        entries.append({"query_id": query_id, "kind": kind, "a_hit_rank": before, "b_hit_rank": after, "note": note})
    return entries


def _lost_chunk(before: Row, after: Row | None, query: GoldenQuery) -> bool:
    """Return whether the first labelled chunk that was found is not found any more."""
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


def _extras(pair: _Pair, per_query: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows_a, rows_b = pair.rows
    extras: dict[str, Any] = {
        "not_comparable": [] if pair.match == "exact" else list(CHUNK_LEVEL),
        "only_in_a": sorted(rows_a.keys() - rows_b.keys()),
        "only_in_b": sorted(rows_b.keys() - rows_a.keys()),
        "without_golden_query": sorted((rows_a.keys() | rows_b.keys()) - pair.queries.keys()),
    }
    if pair.match != "exact":
        # of the questions that can be matched this way, on both sides
        matched = [row for row in per_query if pair.is_labelled(row["query_id"], pair.match)]
        extras["fallback_a"] = ranked([row["a_hit_rank"] for row in matched if row["query_id"] in rows_a])
        extras["fallback_b"] = ranked([row["b_hit_rank"] for row in matched if row["query_id"] in rows_b])
    return extras


def _settings(a: StoredRun, b: StoredRun) -> dict[str, list[Any]]:
    """Return the settings that differ, in run a and in run b."""
    before, after = ({**run.snapshot, "chunker_version": chunker_version(run)} for run in (a, b))
    return {
        key: [before.get(key), after.get(key)]
        for key in SETTINGS
        if before.get(key) != after.get(key) and not (key == "chunker_version" and same_chunkers(a, b))
    }


def _common(pair: _Pair, per_query: Sequence[Mapping[str, Any]], rules: Rules) -> dict[str, Any]:
    """Summarise the queries that are in both runs: how many, which are measured, and the change."""
    rows_a, rows_b = pair.rows
    both = rows_a.keys() & rows_b.keys()
    labelled = sorted(both & pair.queries.keys())
    rows = [[row for query_id, row in side.items() if query_id in both] for side in pair.rows]
    matched = [row for row in per_query if row["query_id"] in both and pair.is_labelled(row["query_id"], pair.match)]
    ranks = [ranked([row[f"{side}_hit_rank"] for row in matched]) for side in "ab"]
    return {
        "queries": len(labelled),
        "matched": len(matched),
        "unmatchable": [
            query_id
            for query_id in labelled
            if pair.is_labelled(query_id, "exact") and not pair.is_labelled(query_id, pair.match)
        ],
        "reworded": [query_id for query_id in labelled if _reworded(rows_a[query_id], rows_b[query_id])],
        "one_rank": [query_id for query_id in labelled if any(map(_one_rank, (rows_a[query_id], rows_b[query_id])))],
        "unanswered": [
            query_id
            for query_id in labelled
            if rows_a[query_id].get("answer") is not None
            and rows_b[query_id].get("answer") is None
            and rows_b[query_id].get("error") is None
        ],
        **{f"counts_{name}": counts(side, pair.queries, rules) for name, side in zip("ab", rows, strict=True)},
        "deltas": _deltas(*(aggregate(side, pair.queries, rules) for side in rows)),
        "fallback_deltas": {} if pair.match == "exact" else _deltas(*ranks),
    }


def _one_rank(row: Row) -> bool:
    """Return whether several hits claim the same rank."""
    ranks = [hit["rank"] for hit in row["hits_top_k"]]
    return len(set(ranks)) < len(ranks)


def _reworded(before: Row, after: Row) -> bool:
    """Return whether a query was asked in other words than before, as far as both rows tell its words."""
    words = {text for row in (before, after) if (text := row.get("query")) is not None}
    return len(words) > 1


class KebabVerdict(Struct, frozen=True):
    """The exit code and its reasons. They hold ids of queries, which are foreign text."""

    code: ExitCode
    reasons: tuple[str, ...]


def decide(report: Mapping[str, Any], *, max_drop: float = MAX_DROP) -> KebabVerdict:
    """Decide on run b of a CompareReport; no aggregate may get worse by more than `max_drop`.

    `CANNOT_TELL` when run b was not measured well enough or no label can be matched, else `REGRESSION` when a question
    that was answered is not any more or an aggregate of the common queries fell by more than allowed, else
    `CANNOT_TELL` when run b lacks what run a has, was asked in other words or some labels cannot be matched, else
    `PASS`.
    """
    unmeasured = _unmeasured(report)
    if unmeasured:
        return KebabVerdict(ExitCode.CANNOT_TELL, tuple(unmeasured))
    worse, missing = _regressions(report, max_drop), _missing(report, max_drop)
    if worse:
        return KebabVerdict(ExitCode.REGRESSION, (*worse, *missing))
    return KebabVerdict(ExitCode.CANNOT_TELL if missing else ExitCode.PASS, tuple(missing))


def _unmeasured(report: Mapping[str, Any]) -> list[str]:
    reasons = []
    for side in "ab":
        values = report[f"aggregate_{side}"]
        total, failed = values["total_queries"], values["failed_queries"]
        if not total:
            reasons.append(f"run {side} has no query")
        elif failed / total > MAX_ERROR_RATE:
            reasons.append(f"{failed} of {total} queries of run {side} failed, at most {percent(MAX_ERROR_RATE)} may")
    common = report["raggate"]["common"]
    if reasons:
        return reasons
    if not common["queries"]:
        return ["no query of the golden set is in both runs"]
    if common["matched"] or any(_applies(common, name) for name in ANSWER_LEVEL):
        return []
    if common["unmatchable"]:
        return [_unmatchable(common)]
    none = f"none of the {common['queries']} queries that are in both runs has a label"
    which = "the one query that is in both runs has no label" if common["queries"] == 1 else none
    return [f"{which}, and no answer can be judged"]


def _regressions(report: Mapping[str, Any], max_drop: float) -> list[str]:
    extras = report["raggate"]
    common = extras["common"]
    # what run b was not asked is no miss of it
    absent = frozenset(extras["only_in_a"])
    reasons = [
        f"{row['query_id']}: {row['note'] or 'worse'}"
        for row in report["per_query"]
        if row["query_id"] not in absent
        and (row["kind"] == "regression" or (row["a_hit_rank"] is not None and row["b_hit_rank"] is None))
    ]
    gated = [name for name in METRICS if name not in extras["not_comparable"] and _applies(common, name)]
    changes = flat({name: common["deltas"][name] for name in gated})
    changes |= {f"{name} of the matched hits": change for name, change in flat(common["fallback_deltas"]).items()}
    for name, change in changes.items():
        if change is not None:
            worse = change if name in LOWER_IS_BETTER else -change
            if worse > max_drop + TOLERANCE:
                reasons.append(f"{name} is worse by {fixed(worse, 4)}, allowed is {setting(max_drop)}")
    return reasons


def _missing(report: Mapping[str, Any], max_drop: float) -> list[str]:
    common = report["raggate"]["common"]
    reasons = []
    for what, names in (
        ("not in run b", report["raggate"]["only_in_a"]),
        ("with an answer in run a and none in run b", common["unanswered"]),
        ("with several hits of one rank", common["one_rank"]),
        ("asked in other words than in run a", common["reworded"]),
    ):
        if names:
            reasons.append(f"{counted(len(names), 'query', 'queries')} {what}, the first is {names[0]}")
    if common["unmatchable"]:
        reasons.append(_unmatchable(common))
    for name in METRICS:
        before, now = common["counts_a"][name], common["counts_b"][name]
        if before and not now:
            reasons.append(f"{name} has a value in run a and none in run b")
        elif not common["unanswered"] and now < before * (1 - max_drop - TOLERANCE):
            # answers that are refused are in no mean of those that are given
            reasons.append(f"{name} is a mean of {counted(now, 'answer')} in run b, of {before} in run a")
    return reasons


def _applies(common: Mapping[str, Any], name: str) -> bool:
    return bool(common["counts_a"][name] and common["counts_b"][name])


def _unmatchable(common: Mapping[str, Any]) -> str:
    names = common["unmatchable"]
    return (
        f"{len(names)} of {common['queries']} queries have expected_chunk_ids alone, which cannot be matched when "
        f"chunkers differ: add expected_doc_ids, the first is {names[0]}"
    )
