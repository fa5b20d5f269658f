"""A run's means by helloworld's definitions, to be compared with a `metrics.json` of theirs, or to stand beside. Pure.

helloworld counts questions that raggate's means leave out, and matches in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from raggate.models.baseline import Baseline, Restated, Slices
from raggate.models.golden import Case
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import OVERALL, MetricValue, Scorecard
from raggate.text.numbers import counted
from raggate_interop.helloworld import metrics
from raggate_interop.helloworld.baseline import base_names
from raggate_interop.helloworld.write import run_config, to_rows


def scores(run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
    """Return the `aggregate_metrics` that `raggate helloworld export` writes for one mode of the run.

    Raises:
        UsageError: where their code would stop.
    """
    items = [item for item in run.results if item.result.mode == mode]
    rows = to_rows(items, run_config(run), full_text=full_text)
    return metrics.aggregate_metrics(
        [item.result for item in items], rows, {case.id: case for case in run.golden.cases}
    )


def restate(run: Run, _: Scorecard, baseline: Baseline) -> Restated:
    """Score a run as helloworld would; a mean is never compared with one of other questions.

    Raises:
        UsageError: where their code would stop.
    """
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
    """Say over how many questions their mean is."""
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
