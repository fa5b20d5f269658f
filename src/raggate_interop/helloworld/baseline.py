"""A `metrics.json` of helloworld as the bare metrics file that raggate takes for a baseline of means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raggate.errors import FileError
from raggate.models.scorecard import OVERALL
from raggate_interop.helloworld.read import MODE, RunFiles, check_metrics, read_config

_UNANSWERABLE = ("abstention_accuracy", "hallucination_rate_unanswerable")
_AT_K = ("recall_at_k_avg", "recall_all_at_k_avg", "mrr_avg", "precision_at_k_avg")
_NAMES = {
    "recall_at_k_avg": "hit",
    "recall_all_at_k_avg": "recall_all",
    "mrr_avg": "mrr",
    "precision_at_k_avg": "precision",
    "attribution_hit_rate": "attribution_hit_rate",
    **{name: name for name in _UNANSWERABLE},
}
_BACK = {name: theirs for theirs, name in _NAMES.items()}


def converted(metrics: dict[str, Any], source: str, beside: Path | None) -> dict[str, Any]:
    """Make the content of a `metrics.json` of theirs a bare metrics file, as `bare_metrics` does.

    Args:
        beside: the directory of the file, whose `config.json` tells K; None where it is not known. `k` beside
            `aggregate_metrics` tells it too.

    Raises:
        FileError: for a file that is not as it should be, of which K is not known, or without scores.
    """
    check_metrics(metrics, source)
    config = read_config(beside / "config.json") if beside is not None else {}
    k = metrics.get("k") or config.get("k")
    run_id = str(metrics.get("run_id") or "")
    content = bare_metrics(RunFiles(run_id=run_id, config={"k": k} if k else {}, metrics=metrics, rows=()))
    overall = content["by_retriever"][MODE][OVERALL]
    if not overall["n"]:
        raise FileError(
            source,
            "has no scores that can be compared",
            hint="Their scripts leave the operational metrics alone there: import the run with `raggate helloworld "
            "import`, and compare with that directory.",
        )
    if not k and any(name in metrics["aggregate_metrics"] for name in _AT_K):
        raise FileError(
            source,
            "does not say at which K it was scored",
            hint='Keep its config.json beside it, or write "k" (as in "k": 5) beside aggregate_metrics.',
        )
    return content


def bare_metrics(files: RunFiles) -> dict[str, Any]:
    """Return their means the names that raggate has for what they come closest to, in the `by_retriever` shape.

    The values stay theirs, over their questions and by their matching: `base_names` leads back, and a run is held
    against them by `raggate.gate.restated`. `count` is of all questions asked, failed calls too, and 0 where the file
    does not tell; `n` likewise. `scope_miss_rate` measures something else and is left out, and so are judges' scores.
    An operational-only file gives no metric at all.

    Args:
        files: the run; its `metrics.json` is enough.
    """
    aggregates = files.aggregates
    answerable, unanswerable = (_count(aggregates.get(f"{kind}_tests")) for kind in ("answerable", "unanswerable"))
    rates = aggregates.get("operational_metrics") or {}
    rows = answerable + unanswerable
    bucket: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for theirs, name in _NAMES.items():
        if aggregates.get(theirs) is not None:
            ours = f"{name}_at_{files.k}" if theirs in _AT_K else name
            bucket[ours] = aggregates[theirs]
            counts[ours] = unanswerable if theirs in _UNANSWERABLE else rows
    parts = {"true": {"count": answerable}, "false": {"count": unanswerable}}
    overall = {**bucket, "count": rows + failed_calls(rows, rates.get("error_rate") or 0.0), "n": counts}
    return {"run_id": files.run_id, "by_retriever": {MODE: {OVERALL: overall, "by_answerable": parts}}}


def base_names(metric: str) -> tuple[str, int | None]:
    """Return their name of a metric that `bare_metrics` names, and the K it is at."""
    base, at, k = metric.partition("_at_")
    return _BACK[base], int(k) if at else None


def failed_calls(answered: int, error_rate: float) -> int:
    """Return how many calls failed in a run of theirs, which keeps no row of them, from its error rate."""
    return round(2 * answered * error_rate / (1 - error_rate)) if 0 < error_rate < 1 else 0


def _count(value: object) -> int:
    # counts are numbers like all others in their file
    return int(value) if isinstance(value, int | float) and value >= 0 else 0
