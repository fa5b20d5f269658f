"""A `metrics.json` of the note system as the bare metrics file that raggate takes for a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raggate.formats.helloworld import MODE, RunFiles
from raggate.models import Case
from raggate.outcomes import OVERALL

_RANKED = {"recall_at_k_avg": "hit", "mrr_avg": "mrr", "precision_at_k_avg": "precision"}
_UNANSWERABLE = ("abstention_accuracy", "hallucination_rate_unanswerable")


def bare_metrics(files: RunFiles, cases: Sequence[Case] | None = None) -> dict[str, Any]:
    """Rename their means to raggate's: a mapping in the `by_retriever` shape, of which only means can be compared.

    Their recall, MRR and precision count unanswerable questions as 0, raggate's leave them out; where it is known how
    many there are, the means are converted. `scope_miss_rate` measures something else and is left out, and so are
    judges' scores. An operational-only file gives no metric at all.

    Args:
        files: the run; its `metrics.json` is enough.
        cases: the cases that were asked; without them the file's own counts of questions count, if it has any.
    """
    aggregates = files.aggregates
    if cases is not None:
        answerable = sum(case.answerable for case in cases)
        unanswerable = len(cases) - answerable
    else:
        answerable, unanswerable = (_count(aggregates.get(f"{kind}_tests")) for kind in ("answerable", "unanswerable"))
    total = answerable + unanswerable
    bucket: dict[str, Any] = {}
    known: dict[str, int] = {}
    for theirs, name in _RANKED.items():
        if aggregates.get(theirs) is not None:
            scale = total / answerable if answerable else 1.0
            bucket[f"{name}_at_{files.k}"] = aggregates[theirs] * scale
            known[f"{name}_at_{files.k}"] = answerable
    for name, count in (("attribution_hit_rate", answerable), *((name, unanswerable) for name in _UNANSWERABLE)):
        if aggregates.get(name) is not None:
            bucket[name], known[name] = aggregates[name], count
    if aggregates.get("recall_all_at_k_avg") is not None and cases is not None:
        name = f"recall_all_at_{files.k}"
        bucket[name] = aggregates["recall_all_at_k_avg"]
        known[name] = sum(case.category == "multi_hop" and bool(case.required_support_groups) for case in cases)
    return {"run_id": files.run_id, "by_retriever": {MODE: {OVERALL: {**bucket, "count": total, "n": known}}}}


def _count(value: object) -> int:
    # counts are numbers like all others in their file
    return int(value) if isinstance(value, int | float) and value >= 0 else 0
