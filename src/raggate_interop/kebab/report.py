"""kebab's reports for people: a comparison or a variant report in, Markdown in its layout out, foreign text inert.

`inert` of a report is what makes foreign text harmless: in a file that is shown as Markdown another thing than on a
terminal, where nobody would undo the escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from raggate.base.errors import CannotTell
from raggate.base.escape import markdown, plain
from raggate_interop.kebab.metrics import CUTOFFS, Queries, Row, answer_ok, doc_recall, shortest, single

NARROW = 10
"""How deep a reader looks."""
POOL = 50
"""How deep candidates go."""

VariantClass = Literal["Ok", "MisRanked", "Missing", "NoExpected"]

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_ROWS = (
    *((f"hit@{k}", "hit_at_k", str(k)) for k in CUTOFFS),
    ("MRR", "mrr", None),
    *((f"recall@{k}_doc", "recall_at_k_doc", str(k)) for k in CUTOFFS),
    *((f"precision@{k}_chunk", "precision_at_k_chunk", str(k)) for k in CUTOFFS),
    *((name, name, None) for name in ("citation_coverage", "groundedness", "empty_result_rate", "refusal_correctness")),
)
_ANSWERS = {True: "all-ok", False: "MIXED", None: "n/a"}
_FLAGS = {True: "ok", False: "BAD", None: "-"}


def variants(rows: Sequence[Row], queries: Queries, snapshot: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return how much the documents found depend on the words of a question.

    A query is Ok when all its documents stand in the first 10, MisRanked when the first 50 have more of them, else
    Missing; NoExpected without labels. Queries without a group do not count.

    Args:
        snapshot: the run's `config_snapshot_json`, whose `eval_k` must be 50 or more if it says so.
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


def report_md(report: Mapping[str, Any], inert: Callable[[str], str] = markdown) -> str:
    """Render the content of `report.md`. Below a changed chunker it also says what cannot be compared."""
    lines = [
        f"# Eval compare: {_code(report['run_a'], inert)} vs {_code(report['run_b'], inert)}",
        "",
        "## Aggregate deltas",
        "",
        "| metric | a | b | Δ (b - a) |",
        "|---|---|---|---|",
    ]
    for title, name, k in _ROWS:
        before, after = (_value(report[f"aggregate_{side}"], name, k) for side in "ab")
        lines.append(f"| {title} | {_number(before)} | {_number(after)} | {_change(before, after)} |")
    lines += ["", f"chunker_version_match: `{report['deltas']['chunker_version_match']}`", *_incomparable(report), ""]
    kinds = [row["kind"] for row in report["per_query"]]
    wins, losses, regressions = (kinds.count(kind) for kind in ("win", "loss", "regression"))
    lines += [
        f"## Wins ({wins}) / Losses ({losses}) / Regressions ({regressions})",
        "",
        "| query_id | kind | rank_a | rank_b | note |",
        "|---|---|---|---|---|",
    ]
    for row in report["per_query"]:
        ranks = " | ".join("—" if rank is None else str(rank) for rank in (row["a_hit_rank"], row["b_hit_rank"]))
        lines.append(f"| {inert(row['query_id'])} | {row['kind']} | {ranks} | {row['note'] or ''} |")
    return "\n".join(lines) + "\n"


def variants_md(report: Mapping[str, Any], inert: Callable[[str], str] = markdown) -> str:
    """Render the report on paraphrase groups."""
    lines = [
        "# Variant consistency",
        "",
        f"groups={report['total_groups']} fully_consistent={report['fully_consistent_groups']}"
        f" A_dominant={report['a_dominant_groups']} B_dominant={report['b_dominant_groups']}"
        f" mean_spread@{NARROW}={report['mean_recall_spread_narrow']:.3f} pool=top-{POOL}",
        "",
    ]
    if report["pool_possibly_truncated"]:
        lines += [f"WARNING: no hit has rank {POOL} or more, so the pool may be cut and MisRanked not be seen.", ""]
    for group in report["groups"]:
        lines.append(
            f"## {inert(group['group'])} — spread@{NARROW}={_short(group['recall_spread_narrow'])}"
            f" worst={_short(group['worst_recall_narrow'])} A={group['mis_ranked']} B={group['missing']}"
            f" answers={_ANSWERS[group['answer_consistency']]}"
        )
        lines += [f"| variant | recall@{NARROW} | recall@{POOL} | class | answer |", "|---|---|---|---|---|"]
        lines += [
            f"| {inert(member['query'])} | {_short(member['recall_narrow'])} | {_short(member['recall_pool'])}"
            f" | {member['class']} | {_FLAGS[member['answer_ok']]} |"
            for member in group["variants"]
        ]
        lines.append("")
    return "\n".join(lines) + "\n"


def _incomparable(report: Mapping[str, Any]) -> list[str]:
    names = report["raggate"]["not_comparable"]
    return ["", f"Not comparable, as the chunks are others: {', '.join(names)}."] if names else []


def _value(values: Mapping[str, Any], name: str, k: str | None) -> float | None:
    entry = values.get(name)
    value = entry.get(k) if k is not None and isinstance(entry, Mapping) else entry
    return None if value is None else single(value)


# bit for bit what kebab writes, which rounds the float and not its shortest decimal
def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.4f}"


def _change(before: float | None, after: float | None) -> str:
    return "—" if before is None or after is None else f"{single(after - before):+.4f}"


def _short(value: float | None) -> str:
    return "NaN" if value is None else f"{value:.2f}"


def _code(text: str, inert: Callable[[str], str]) -> str:
    """Put a run id into code marks; one that could break out of them is escaped in their place."""
    return f"`{text}`" if _CODE.fullmatch(text) else inert(plain(text))
