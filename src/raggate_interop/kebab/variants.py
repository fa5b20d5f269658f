"""kebab's report on paraphrases: the rows of a run and golden queries with groups in, its consistency report out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from raggate.errors import CannotTell
from raggate_interop.kebab.metrics import Queries, Row, answer_ok, doc_recall, shortest, single

NARROW = 10
"""How deep a reader looks."""
POOL = 50
"""How deep candidates go."""

VariantClass = Literal["Ok", "MisRanked", "Missing", "NoExpected"]


def variants(rows: Sequence[Row], queries: Queries, snapshot: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return how much the documents found depend on the words of a question.

    A query is Ok when all its documents stand in the first 10, MisRanked when the first 50 have more of them, else
    Missing; NoExpected without labels. Queries without a group do not count.

    Args:
        rows: the rows of a run, in its order.
        snapshot: the run's `config_snapshot_json`, whose `eval_k` must be 50 or more if it says so.

    Raises:
        CannotTell: when the run retrieved fewer than 50 candidates.
    """
    asked = (snapshot or {}).get("eval_k")
    if type(asked) is int and asked < POOL:
        raise CannotTell(
            f"the run asked for {asked} candidates, expected at least {POOL}",
            hint=f"Run it again: kebab eval run --k {POOL}",
        )
    members: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        query = queries.get(row["query_id"])
        if query is not None and query.group is not None:
            members.setdefault(query.group, []).append(_variant(row, queries))
    groups = [_group(name, members[name]) for name in sorted(members)]
    ranks = [hit["rank"] for row in rows for hit in row["hits_top_k"]]
    spread = 0.0
    for group in groups:
        spread = single(spread + single(group["recall_spread_narrow"]))
    return {
        "groups": groups,
        "mean_recall_spread_narrow": shortest(spread / len(groups)) if groups else 0.0,
        "fully_consistent_groups": sum(
            group["recall_spread_narrow"] == 0 and group["worst_recall_narrow"] == 1 for group in groups
        ),
        "total_groups": len(groups),
        "a_dominant_groups": sum(0 < group["mis_ranked"] >= group["missing"] for group in groups),
        "b_dominant_groups": sum(group["missing"] > group["mis_ranked"] for group in groups),
        "pool_possibly_truncated": bool(ranks) and max(ranks) < POOL,
    }


def _variant(row: Row, queries: Queries) -> dict[str, Any]:
    query = queries[row["query_id"]]
    expected = query.expected_doc_ids
    narrow, pool = (doc_recall(row, expected, k) if expected else None for k in (NARROW, POOL))
    return {
        "query_id": row["query_id"],
        "query": row.get("query", ""),
        "recall_narrow": None if narrow is None else shortest(narrow),
        "recall_pool": None if pool is None else shortest(pool),
        "answer_ok": answer_ok(row, query),
        "class": _class(narrow, pool),
    }


def _class(narrow: float | None, pool: float | None) -> VariantClass:
    if narrow is None or pool is None:
        return "NoExpected"
    if narrow >= 1:
        return "Ok"
    return "MisRanked" if pool > narrow else "Missing"


def _group(name: str, members: list[dict[str, Any]]) -> dict[str, Any]:
    recalls = [recall for member in members if (recall := member["recall_narrow"]) is not None]
    answers = [flag for member in members if (flag := member["answer_ok"]) is not None]
    classes = [member["class"] for member in members]
    return {
        "group": name,
        "variants": members,
        "recall_spread_narrow": shortest(single(max(recalls)) - single(min(recalls))) if recalls else 0.0,
        "worst_recall_narrow": min(recalls, default=None),
        "answer_consistency": all(answers) if answers else None,
        "mis_ranked": classes.count("MisRanked"),
        "missing": classes.count("Missing"),
    }
