"""kebab's reports for people: a comparison or a variant report in, Markdown in its layout out, foreign text inert.

`inert` of a report is what makes foreign text harmless: in a file that is shown as Markdown another thing than on a
terminal, where nobody would undo the escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from raggate.text.escape import markdown, plain
from raggate_interop.kebab.metrics import CUTOFFS, single
from raggate_interop.kebab.variants import NARROW, POOL

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
