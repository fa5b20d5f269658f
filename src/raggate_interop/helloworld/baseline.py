"""A `metrics.json` of helloworld as a baseline of means, and a run's means restated by its definitions beside one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from raggate.base.errors import FileError
from raggate.base.numbers import counted
from raggate.models.baseline import Baseline, Restated, Slices
from raggate.models.golden import Case
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import OVERALL, MetricValue, Scorecard
from raggate_interop.helloworld import metrics
from raggate_interop.helloworld.read import DEFAULT_K, METRICS, MODE, read_config
from raggate_interop.helloworld.write import run_config, to_rows
from raggate_interop.json_shapes import check

_KINDS = ("answerable", "unanswerable")
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
    """Return their means by the names that raggate has for what they come closest to, in the `by_retriever` shape.

    The values stay theirs, over their questions and by their matching: `base_names` leads back, and a run is held
    against them by `raggate.gate.restated`. `count` is of all questions asked, failed calls too, and 0 where the file
    does not tell; `n` likewise. `scope_miss_rate` measures something else and is left out, and so are judges' scores.

    Args:
        beside: the directory of the file, whose `config.json` tells K; None where it is not known. `k` beside
            `aggregate_metrics` tells it too.
    """
    check(METRICS, metrics, source)
    config = read_config(beside / "config.json") if beside is not None else {}
    k = metrics.get("k") or config.get("k")
    aggregates = metrics.get("aggregate_metrics") or {}
    answerable, unanswerable = (max(int(aggregates.get(f"{kind}_tests") or 0), 0) for kind in _KINDS)
    rows = answerable + unanswerable
    bucket: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for theirs, name in _NAMES.items():
        if aggregates.get(theirs) is not None:
            ours = f"{name}_at_{k or DEFAULT_K}" if theirs in _AT_K else name
            bucket[ours] = aggregates[theirs]
            counts[ours] = unanswerable if theirs in _UNANSWERABLE else rows
    if not counts:
        raise FileError(
            source,
            "has no comparable scores",
            hint="Their scripts store only operational metrics there. Import the run with `raggate helloworld "
            "import`, and compare with that directory.",
        )
    if not k and any(name in aggregates for name in _AT_K):
        raise FileError(
            source,
            "does not name the K of its scores",
            hint='Keep its config.json beside it, or write "k" (as in "k": 5) beside aggregate_metrics.',
        )
    rates = aggregates.get("operational_metrics") or {}
    parts = {"true": {"count": answerable}, "false": {"count": unanswerable}}
    overall = {**bucket, "count": rows + failed_calls(rows, rates.get("error_rate") or 0.0), "n": counts}
    run_id = str(metrics.get("run_id") or "")
    return {"run_id": run_id, "by_retriever": {MODE: {OVERALL: overall, "by_answerable": parts}}}


def base_names(metric: str) -> tuple[str, int | None]:
    """Return their name of a metric that `converted` names, and the K it is at."""
    base, at, k = metric.partition("_at_")
    return _BACK[base], int(k) if at else None


def failed_calls(answered: int, error_rate: float) -> int:
    """Return how many calls failed in a run of theirs, which keeps no row of them, from its error rate."""
    return round(2 * answered * error_rate / (1 - error_rate)) if 0 < error_rate < 1 else 0


def scores(run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
    """Return the `aggregate_metrics` that `raggate helloworld export` writes for one mode of the run."""
    items = [item for item in run.results if item.result.mode == mode]
    rows = to_rows(items, run_config(run), full_text=full_text)
    return metrics.aggregate_metrics(
        [item.result for item in items], rows, {case.id: case for case in run.golden.cases}
    )


def restate(run: Run, _: Scorecard, baseline: Baseline) -> Restated:
    """Score a run as helloworld would; a mean is never compared with one of other questions."""
    current: Slices = {}
    problems: list[str] = []
    for mode, slices in baseline.scorecard.slices.items():
        items = [item for item in run.results if item.result.mode == mode]
        wanted = slices.get(OVERALL, {})
        if not items or not wanted:
            continue
        problems += _other_notes(baseline, mode, items)
        cases = {item.case.id: item.case for item in items}
        restated: dict[str, MetricValue] = {}
        by_k = {k: metrics.aggregate(_rows(items, k), cases) for k in {base_names(metric)[1] for metric in wanted}}
        for metric, like in wanted.items():
            theirs, k = base_names(metric)
            means = by_k[k]
            if theirs in means and means[theirs] is not None:
                n = _counted(theirs, list(cases.values()))
                restated[metric] = MetricValue(
                    value=means[theirs], n=n, unscored=len(cases) - n, direction=like.direction
                )
        current[mode] = {OVERALL: restated}
    return Restated(baseline=_with_counts(baseline, current), current=current, problems=tuple(problems))


def _rows(items: Sequence[LabelledResult], k: int | None) -> list[dict[str, Any]]:
    """The rows of their `results.jsonl`, cut as they cut them; a failed call has one too, and counts as a miss."""
    config = {"k": k} if k else {}
    unheard = {
        "answer": "",
        "retrieved_chunks": [],
        "config": config,
        "abstention": {"abstained": False, "hallucinated": True},
    }
    failed = [item.case.id for item in items if item.result.response is None]
    return [*to_rows(items, config), *({"test_case_id": name, **unheard} for name in failed)]


def _counted(theirs: str, cases: Sequence[Case]) -> int:
    """Return over how many questions their mean is."""
    if theirs == "recall_all_at_k_avg":
        return sum(case.category == "multi_hop" and bool(case.required_support_groups) for case in cases)
    if theirs == "attribution_hit_rate":
        return sum(case.answerable for case in cases)
    if theirs in {"abstention_accuracy", "hallucination_rate_unanswerable"}:
        return sum(not case.answerable for case in cases)
    return len(cases)


def _other_notes(baseline: Baseline, mode: str, items: Sequence[LabelledResult]) -> Iterator[str]:
    """Yield why a metrics file of theirs is not of the questions of the run, as far as it tells."""
    unreadable = [
        item.case.id
        for item in items
        if item.case.answerable and not any(support.rel_path for support in item.case.gold_supports)
    ]
    if unreadable:
        yield (
            f"{baseline.source} counts places in notes, and {counted(len(unreadable), 'question')} of this run "
            f"{'names' if len(unreadable) == 1 else 'name'} ids alone: {', '.join(unreadable[:5])}"
        )
    counts = baseline.scorecard.counts.get(mode, {})
    answerable = sum(item.case.answerable for item in items)
    split = {"answerable=true": answerable, "answerable=false": len(items) - answerable}
    asked = counts.get(OVERALL, 0)
    if asked and (asked != len(items) or any(counts.get(name, 0) > own for name, own in split.items())):
        yield (
            f"the means of {baseline.source} are over {asked} questions, {counts.get('answerable=false', 0)} of them "
            f"unanswerable, and this run asked {len(items)}, {split['answerable=false']} of them unanswerable"
        )


def _with_counts(baseline: Baseline, current: Slices) -> Baseline:
    """Return a baseline the numbers of questions of the run, which its file does not tell for single means."""
    stored = baseline.scorecard
    slices = {
        mode: {
            name: {
                metric: replace(value, n=now.n, unscored=now.unscored)
                if (now := current.get(mode, {}).get(name, {}).get(metric)) and value.value is not None
                else value
                for metric, value in values.items()
            }
            for name, values in parts.items()
        }
        for mode, parts in stored.slices.items()
    }
    return replace(baseline, scorecard=replace(stored, slices=slices))
