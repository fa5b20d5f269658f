"""A `metrics.json` of the note system as the bare metrics file that raggate takes for a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from raggate.errors import UsageError
from raggate.formats.helloworld import MODE, RunFiles, check_metrics, read_config
from raggate.models import Case
from raggate.outcomes import OVERALL

_RANKED = {"recall_at_k_avg": "hit", "mrr_avg": "mrr", "precision_at_k_avg": "precision"}
_UNANSWERABLE = ("abstention_accuracy", "hallucination_rate_unanswerable")


def converted(metrics: dict[str, Any], source: str, beside: Path | None) -> dict[str, Any]:
    """Make the content of a `metrics.json` of theirs a bare metrics file, as `bare_metrics` does.

    Args:
        metrics: the content.
        source: the file's name for messages.
        beside: the directory of the file, whose `config.json` tells K; None where it is not known. `k` beside
            `aggregate_metrics` tells it too.

    Raises:
        UsageError: for a file that is not as it should be, of which K is not known, or without scores.
    """
    check_metrics(metrics, source)
    config = read_config(beside / "config.json") if beside is not None else {}
    k = metrics.get("k") or config.get("k")
    run_id = str(metrics.get("run_id") or "")
    found = bare_metrics(RunFiles(run_id=run_id, config={"k": k} if k else {}, metrics=metrics, rows=()))
    overall = found["by_retriever"][MODE][OVERALL]
    if not overall["n"]:
        raise UsageError(
            f"{source}: holds no scores that can be compared",
            hint="Their scripts leave the operational metrics alone there: import the run with `raggate helloworld "
            "import`, and compare with that directory.",
        )
    if not k and any(name in metrics["aggregate_metrics"] for name in _RANKED):
        raise UsageError(
            f"{source}: does not tell at which K it was scored",
            hint='Keep its config.json beside it, or write "k" (as in "k": 5) beside aggregate_metrics.',
        )
    return found


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
    counted = cases is not None or aggregates.get("answerable_tests") is not None
    # a mean of no question is not written, so it is of one at least
    least = 0 if counted else 1
    total = answerable + unanswerable
    bucket: dict[str, Any] = {}
    known: dict[str, int] = {}
    for theirs, name in _RANKED.items():
        if aggregates.get(theirs) is not None:
            scale = total / answerable if answerable else 1.0
            bucket[f"{name}_at_{files.k}"] = aggregates[theirs] * scale
            known[f"{name}_at_{files.k}"] = max(answerable, least)
    for name, count in (("attribution_hit_rate", answerable), *((name, unanswerable) for name in _UNANSWERABLE)):
        if aggregates.get(name) is not None:
            bucket[name], known[name] = aggregates[name], max(count, least)
    if aggregates.get("recall_all_at_k_avg") is not None and cases is not None:
        name = f"recall_all_at_{files.k}"
        bucket[name] = aggregates["recall_all_at_k_avg"]
        known[name] = sum(case.category == "multi_hop" and bool(case.required_support_groups) for case in cases)
    return {
        "run_id": files.run_id,
        "by_retriever": {MODE: {OVERALL: {**bucket, "count": max(total, *known.values(), 0), "n": known}}},
    }


def _count(value: object) -> int:
    # counts are numbers like all others in their file
    return int(value) if isinstance(value, int | float) and value >= 0 else 0
