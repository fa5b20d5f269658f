"""substrate's numbers: queries and result rows in, metrics by mode and difficulty out.

`score` follows its specification; `run_experiment`, `build_metrics` and `golden_check` give what its three programs
write, bit for bit. Queries and rows are JSON objects as in its files, already checked, with raggate's mode names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.question_settings import asked_in
from raggate.models.scorecard import OVERALL
from raggate_interop.substrate.golden import DEFAULT_DIFFICULTY

Row = Mapping[str, Any]
Table = dict[str, dict[str, dict[str, float | None]]]
"""Metrics by mode, then by difficulty or `overall`, then by name."""

HeadingRule = Literal["seed", "build_metrics", "heading_bias"]

CUTOFFS = (1, 3, 5, 10)
DIFFICULTIES = ("easy", "medium", "hard", "fusion")
_ROUNDED = 6

LEXICAL = ("fts", "retrieval")
"""Channels that heading words dominate."""


class Definitions(Struct, frozen=True, kw_only=True):
    """What may be defined in more than one way; the defaults are the specification's.

    Attributes:
        k: how many results heading and duplicate rates look at; the diversity rate looks at `diversity_k`.
        heading: what `heading_dominance_rate` is: of queries, by the first result (`seed`); of results, by the share of
            the lexical score (`build_metrics`); of documents with several chunks, by their first (`heading_bias`).
        heading_threshold: the share of the lexical score from which `build_metrics` calls a result dominated.
        clusters: what documents are near-duplicates of each other, by document id, for the diversity rate.
    """

    cutoffs: tuple[int, ...] = CUTOFFS
    k: int = 10
    diversity_k: int = 5
    heading: HeadingRule = "seed"
    heading_threshold: float = 0.7
    clusters: Mapping[str, str] | None = None


class RankedQuery(Struct, frozen=True, kw_only=True):
    """One query in one mode with its results. `grades` holds the relevant documents by id without `.md`."""

    query: str
    mode: str
    difficulty: str
    grades: Mapping[str, int]
    results: Sequence[Row]


_Scored = tuple[RankedQuery, dict[str, float | None]]


class Joined(Struct, frozen=True, kw_only=True):
    """Queries and rows put together by (query, mode).

    Attributes:
        asked: what is scored.
        missing: query and mode without a row: scored as a miss.
        unknown: query and mode of rows that no query goes with: not scored.
        absent: modes that queries name and no row has: not scored.
    """

    asked: tuple[RankedQuery, ...]
    missing: tuple[tuple[str, str], ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()


def join(queries: Sequence[Row], rows: Sequence[Row], *, all_modes: bool = False) -> Joined:
    """Put queries and rows together; the labels of the queries count, not those stored in the rows.

    Args:
        all_modes: whether to score a query in modes that its `retriever_types` does not name, as the skill's scripts
            do. `hybrid` covers `hybrid_rerank`, which the file has no word for.
    """
    by_key = {(row["query"], row["mode"]): row for row in rows}
    modes = list(dict.fromkeys(row["mode"] for row in rows))
    asked, missing, used = [], [], set()
    for mode in modes:
        for query in queries:
            if not all_modes and not asked_in(query.get("retriever_types"), mode):
                continue
            key = (query["query"], mode)
            used.add(key)
            if key not in by_key:
                missing.append(key)
            asked.append(_ranked_query(query, mode, by_key.get(key, {}).get("results") or ()))
    texts = {query["query"] for query in queries}
    named = dict.fromkeys(mode for query in queries for mode in query.get("retriever_types") or ())
    return Joined(
        asked=tuple(asked),
        missing=tuple(missing),
        unknown=tuple(key for key in by_key if key not in used and key[0] not in texts),
        absent=tuple(mode for mode in named if mode not in modes),
    )


def score(asked: Sequence[RankedQuery], definitions: Definitions | None = None) -> Table:
    """Score queries by the specification.

    Per query and mode `hit_at_k`, `mrr_at_k` and `ndcg_at_k`, the heading, duplicate and diversity rates; per bucket
    the mean over its queries with `count`, and `overall` over all queries of the mode. A query that expects nothing is
    a miss. What the results do not tell, such as bodies, gives None.
    """
    chosen = definitions or Definitions()
    fields = Fields.of(_lists(asked))
    by_mode: dict[str, list[_Scored]] = {}
    for item in asked:
        by_mode.setdefault(item.mode, []).append((item, _values(item, chosen, fields)))
    return {
        mode: {name: _bucket(members, chosen) for name, members in [*_by_difficulty(scored), (OVERALL, scored)]}
        for mode, scored in by_mode.items()
    }


def hit(item: RankedQuery, k: int) -> float:
    """1 if one of the first k results is a relevant document, else 0; every chunk of a document takes a place."""
    return float(any(stem(entry["doc_id"]) in item.grades for entry in item.results[:k]))


def mrr(item: RankedQuery, k: int) -> float:
    """1 / place of the first relevant result within the first k, else 0."""
    places = (place for place, entry in enumerate(item.results[:k], 1) if stem(entry["doc_id"]) in item.grades)
    return next((1 / place for place in places), 0.0)


def ndcg(item: RankedQuery, k: int, *, deduplicated: bool = True) -> float:
    """Linear gain over that of the best order of all relevant documents; 0 for a query that expects nothing.

    Of a document that comes back in several chunks the first counts and the others leave the list. Without
    `deduplicated` each gains again, and the value can be above 1.
    """
    # for k different documents the whole list may be needed
    results = item.results if deduplicated else item.results[:k]
    documents: dict[object, str] = {}
    for place, entry in enumerate(results):
        if len(documents) == k:
            break
        doc_id = stem(entry["doc_id"])
        documents.setdefault(doc_id if deduplicated else place, doc_id)
    ideal = _discounted(sorted(item.grades.values(), reverse=True)[:k])
    return _discounted([item.grades.get(doc_id, 0) for doc_id in documents.values()]) / ideal if ideal else 0.0


def duplicate_doc_rate(item: RankedQuery, k: int) -> float:
    """Share of the first k results whose document already appeared higher up; 0 for an empty list."""
    documents = [stem(entry["doc_id"]) for entry in item.results[:k]]
    return (len(documents) - len(set(documents))) / len(documents) if documents else 0.0


def diversity_rate(item: RankedQuery, k: int, clusters: Mapping[str, str] | None = None) -> float | None:
    """Share of the first k results that bring a document, or with `clusters` a cluster, of their own.

    None for an empty list. A document without a cluster is one of its own.
    """
    by_document = clusters or {}
    groups = []
    for entry in item.results[:k]:
        doc_id = stem(entry["doc_id"])
        cluster = by_document.get(doc_id, by_document.get(f"{doc_id}.md"))
        # a cluster may have the name of a document
        groups.append((cluster is not None, doc_id if cluster is None else cluster))
    return len(set(groups)) / len(groups) if groups else None


def run_experiment(asked: Sequence[RankedQuery], limit: int = 10) -> Table:
    """Return what `run_experiment.py` aggregates: hit at 1, 3 and the limit, MRR at the limit, `count` as a float."""
    table: Table = {}
    for mode, difficulty, members in _groups(asked):
        count = len(members)
        values: dict[str, float | None] = {"count": float(count)}
        for k in dict.fromkeys((1, 3, limit)):
            values[f"hit_at_{k}"] = sum(hit(item, k) for item in members) / count
        values[f"mrr_at_{limit}"] = sum(mrr(item, limit) for item in members) / count
        table.setdefault(mode, {})[difficulty] = values
    return table


def build_metrics(asked: Sequence[RankedQuery], k: int = 10, heading_threshold: float = 0.7) -> Table:
    """Return what `build_metrics.py enrich` adds, to 6 decimals: nDCG with repeated gains, and heading dominance."""
    table: Table = {}
    for mode, difficulty, members in _groups(asked):
        binary = [replace(item, grades=dict.fromkeys(item.grades, 1)) for item in members]
        average = sum(ndcg(item, k, deduplicated=False) for item in binary) / len(members)
        dominance = dominance_of_results(_lists(members), mode, k, heading_threshold)
        table.setdefault(mode, {})[difficulty] = {
            f"ndcg_at_{k}": round(average, _ROUNDED),
            "heading_dominance_rate": round(dominance, _ROUNDED),
        }
    return table


def run_skill(asked: Sequence[RankedQuery], limit: int = 10, k: int = 10, heading_threshold: float = 0.7) -> Table:
    """Return what the skill's `metrics.json` holds after both of its scripts; each has a K of its own."""
    table, added = run_experiment(asked, limit), build_metrics(asked, k, heading_threshold)
    return {
        mode: {name: {**bucket, **added[mode][name]} for name, bucket in buckets.items()}
        for mode, buckets in table.items()
    }


def golden_check(queries: Sequence[Row], rows: Sequence[Row]) -> Table:
    """Return what the catalog's `eval golden` reports: hits only, exact ids, and the modes of `retriever_types`.

    A query without a row is a miss; modes without any row are left out.
    """
    by_key = {(row["query"], row["mode"]): row.get("results") or () for row in rows}
    run = {mode for _, mode in by_key}
    groups: dict[tuple[str, str], list[tuple[set[str], list[str]]]] = {}
    for query in queries:
        for mode in query.get("retriever_types") or ():
            if mode not in run:
                continue
            doc_ids = [entry["doc_id"] for entry in by_key.get((query["query"], mode), ())]
            key = (mode, query.get("difficulty") or DEFAULT_DIFFICULTY)
            groups.setdefault(key, []).append((set(query["expected_docs"]), doc_ids))
    table: Table = {}
    for (mode, difficulty), members in groups.items():
        values: dict[str, float | None] = {"count": float(len(members))}
        for k in CUTOFFS:
            values[f"hit_at_{k}"] = sum(bool(wanted & set(doc_ids[:k])) for wanted, doc_ids in members) / len(members)
        table.setdefault(mode, {})[difficulty] = values
    return table


def stem(doc_id: str) -> str:
    """Return a document id as their scripts compare it: without a final `.md`."""
    return doc_id.removesuffix(".md")


def _ranked_query(labels: Row, mode: str, results: Sequence[Row]) -> RankedQuery:
    graded = {stem(doc_id): grade for doc_id, grade in (labels.get("relevance") or {}).items() if grade > 0}
    return RankedQuery(
        query=labels["query"],
        mode=mode,
        difficulty=labels.get("difficulty") or DEFAULT_DIFFICULTY,
        grades={**{stem(doc_id): 1 for doc_id in labels.get("expected_docs") or ()}, **graded},
        results=results,
    )


def _values(item: RankedQuery, chosen: Definitions, fields: Fields) -> dict[str, float | None]:
    """Score one query; dominance of results is the one rate that is not a mean over queries."""
    values: dict[str, float | None] = {}
    ranked: dict[str, Callable[[RankedQuery, int], float]] = {"hit": hit, "mrr": mrr, "ndcg": ndcg}
    for name, function in ranked.items():
        values.update({f"{name}_at_{k}": function(item, k) for k in chosen.cutoffs})
    if chosen.heading == "heading_bias":
        values["heading_dominance_rate"] = dominance_of_documents(item.results, chosen.k, fields)
    else:
        values["heading_dominance_rate"] = dominance_of_query(item.results, fields)
    values["heading_only_hit_rate"] = heading_only_hits(item.results, chosen.k, fields)
    values["duplicate_doc_rate"] = duplicate_doc_rate(item, chosen.k)
    values["diversity_rate"] = diversity_rate(item, chosen.diversity_k, chosen.clusters)
    return values


def _bucket(members: Sequence[_Scored], chosen: Definitions) -> dict[str, float | None]:
    bucket = {name: _mean(values[name] for _, values in members) for name in members[0][1]}
    if chosen.heading == "build_metrics":
        queries = [item for item, _ in members]
        rate = dominance_of_results(_lists(queries), queries[0].mode, chosen.k, chosen.heading_threshold)
        bucket["heading_dominance_rate"] = rate
    return {**bucket, "count": len(members)}


def _mean(values: Iterable[float | None]) -> float | None:
    applicable = [value for value in values if value is not None]
    return sum(applicable) / len(applicable) if applicable else None


def _discounted(gains: Sequence[int]) -> float:
    # in a loop as theirs: since Python 3.12 `sum` rounds otherwise
    total = 0.0
    for place, gain in enumerate(gains, 1):
        total += gain / log2(place + 1)
    return total


def _lists(items: Sequence[RankedQuery]) -> list[Sequence[Row]]:
    return [item.results for item in items]


def _groups(asked: Sequence[RankedQuery]) -> list[tuple[str, str, list[RankedQuery]]]:
    """Group by mode and difficulty in the order of their first appearance."""
    groups: dict[tuple[str, str], list[RankedQuery]] = {}
    for item in asked:
        groups.setdefault((item.mode, item.difficulty), []).append(item)
    return [(*key, members) for key, members in groups.items()]


def _by_difficulty(scored: Sequence[_Scored]) -> list[tuple[str, list[_Scored]]]:
    groups: dict[str, list[_Scored]] = {}
    for pair in scored:
        groups.setdefault(pair[0].difficulty, []).append(pair)
    return [(name, groups[name]) for name in dict.fromkeys((*DIFFICULTIES, *groups)) if name in groups]


class Fields(Struct, frozen=True, kw_only=True):
    """What the results of a run tell at all; what no result tells is not measured, rather than 0."""

    heading_only: bool
    bodies: bool

    @classmethod
    def of(cls, lists: Sequence[Sequence[Row]]) -> Fields:
        """Look through all result lists of a run."""
        entries = [entry for results in lists for entry in results]
        return cls(
            heading_only=any(entry.get("heading_only") is not None for entry in entries),
            bodies=any(entry.get("body_text") is not None for entry in entries),
        )


def dominance_of_query(results: Sequence[Row], fields: Fields) -> float | None:
    """(a) The specification: 1 if the first result is a heading-only match, else 0; 0 for an empty list.

    None where that is not told of the first result, or of any result of the run.
    """
    if not fields.heading_only:
        return None
    if not results:
        return 0.0
    flag = results[0].get("heading_only")
    return None if flag is None else float(flag)


def dominance_of_results(lists: Sequence[Sequence[Row]], mode: str, k: int, threshold: float) -> float:
    """(b) `build_metrics.py`: share of the first k results whose score comes from the lexical channel.

    That is max(fts, retrieval) / score >= threshold; without scores by channel every result of bm25 counts. A score of
    0 or less never counts. 0 for no results.
    """
    entries = [entry for results in lists for entry in results[:k]]
    return sum(is_dominated(entry, mode, threshold) for entry in entries) / len(entries) if entries else 0.0


def is_dominated(entry: Row, mode: str, threshold: float) -> bool:
    """Return whether the lexical channel makes up the score of a result."""
    scores = entry.get("scores")
    if not scores:
        return mode == "bm25"
    total = entry.get("score") or 0.0
    return total > 0 and bool(max(scores.get(channel, 0.0) for channel in LEXICAL) / total >= threshold)


def dominance_of_documents(results: Sequence[Row], k: int, fields: Fields) -> float | None:
    """(c) `heading_bias.py`: share, among documents with several chunks in the first k, whose first chunk has no body.

    0 where no document has several. None where bodies are not told.
    """
    first = results[:k]
    if not _has_bodies(first, fields):
        return None
    chunks: dict[str, list[Row]] = {}
    for entry in first:
        chunks.setdefault(entry["doc_id"], []).append(entry)
    several = [entries for entries in chunks.values() if len(entries) > 1]
    return sum(_bodiless(entries[0]) for entries in several) / len(several) if several else 0.0


def heading_only_hits(results: Sequence[Row], k: int, fields: Fields) -> float | None:
    """`heading_bias.py`: share of the first k results without a body; 0 for an empty list, None where not told."""
    first = results[:k]
    if not _has_bodies(first, fields):
        return None
    return sum(_bodiless(entry) for entry in first) / len(first) if first else 0.0


def _has_bodies(results: Sequence[Row], fields: Fields) -> bool:
    return fields.bodies and all(entry.get("body_text") is not None for entry in results)


def _bodiless(entry: Row) -> bool:
    return not str(entry["body_text"]).strip()
