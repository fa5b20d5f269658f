"""A run's means by the definitions of another system, to be held against a metrics file of that system. Pure.

The note system and the search-improver count questions that raggate's means leave out, and match in their own way. So
where a baseline is of them, the run is scored again as they would; a mean is never held against one of other questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from raggate.errors import UsageError
from raggate.models.baseline import Baseline
from raggate.models.golden import Case
from raggate.models.retrieval_modes import mode_name
from raggate.models.run import Labelled, Run
from raggate.models.scorecard import OVERALL, MetricValue, Scorecard

Slices = dict[str, dict[str, dict[str, MetricValue]]]
"""Means by mode, slice and metric."""

_CUTOFFS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restated:
    """A baseline with the numbers of questions filled in, and the run's means by its definitions.

    `problems` say why these cannot be computed, or are of other questions than those of the baseline.
    """

    baseline: Baseline
    current: Slices = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def restate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    """Score a run by the definitions that a bare metrics file was made with."""
    means_of = baseline.provenance.get("means_of")
    known = {mode_name(mode): mode for mode in scorecard.slices}
    slices = baseline.scorecard.slices
    if means_of == "substrate" and len({mode_name(mode) for mode in slices}) == len(slices):
        # `bm25` and `fts` are one mode there
        baseline = _renamed(baseline, {mode: known.get(mode_name(mode), mode) for mode in slices})
    try:
        if means_of == "helloworld":
            return _as_helloworld(run, baseline)
        if means_of == "substrate":
            return _as_substrate(run, scorecard, baseline)
    except UsageError as error:
        return Restated(baseline=baseline, problems=(f"the run has no means by their definitions: {error.message}",))
    return Restated(baseline=baseline)


def _renamed(baseline: Baseline, names: dict[str, str]) -> Baseline:
    stored = baseline.scorecard
    slices = {names[mode]: value for mode, value in stored.slices.items()}
    counts = {names.get(mode, mode): value for mode, value in stored.counts.items()}
    return replace(baseline, scorecard=replace(stored, slices=slices, counts=counts))


def _as_helloworld(run: Run, baseline: Baseline) -> Restated:
    from raggate.interop.helloworld import metrics as compat
    from raggate.interop.helloworld.baseline import base_names

    current: Slices = {}
    problems: list[str] = []
    for mode, slices in baseline.scorecard.slices.items():
        items = [item for item in run.results if item.result.mode == mode]
        wanted = slices.get(OVERALL, {})
        if not items or not wanted:
            continue
        problems += _other_notes(baseline, mode, items)
        cases = {item.case.id: item.case for item in items}
        found: dict[str, MetricValue] = {}
        by_k = {k: compat.aggregate(_rows(items, k), cases) for k in {base_names(metric)[1] for metric in wanted}}
        for metric, like in wanted.items():
            theirs, k = base_names(metric)
            means = by_k[k]
            if theirs in means and means[theirs] is not None:
                n = _counted(theirs, list(cases.values()))
                found[metric] = MetricValue(value=means[theirs], n=n, unscored=len(cases) - n, direction=like.direction)
        current[mode] = {OVERALL: found}
    return Restated(baseline=_with_counts(baseline, current), current=current, problems=tuple(problems))


def _rows(items: Sequence[Labelled], k: int | None) -> list[dict[str, Any]]:
    """Give the rows of their `results.jsonl`, cut as they cut them; a failed call has one too, and counts as a miss."""
    from raggate.interop.helloworld.write import to_rows

    config = {"k": k} if k else {}
    questions = {item.case.id: item.case.question for item in items}
    rows = to_rows([item.result for item in items], questions, config)
    unheard = {
        "answer": "",
        "retrieved_chunks": [],
        "config": config,
        "abstention": {"abstained": False, "hallucinated": True},
    }
    failed = [item.case.id for item in items if item.result.response is None]
    return [*rows, *({"test_case_id": name, **unheard} for name in failed)]


def _counted(theirs: str, cases: Sequence[Case]) -> int:
    """Say over how many questions their mean is."""
    if theirs == "recall_all_at_k_avg":
        return sum(case.category == "multi_hop" and bool(case.required_support_groups) for case in cases)
    if theirs == "attribution_hit_rate":
        return sum(case.answerable for case in cases)
    if theirs in {"abstention_accuracy", "hallucination_rate_unanswerable"}:
        return sum(not case.answerable for case in cases)
    return len(cases)


def _other_notes(baseline: Baseline, mode: str, items: Sequence[Labelled]) -> Iterator[str]:
    """Say why a metrics file of the note system is not of the questions of the run, as far as it tells."""
    unreadable = [item.case.id for item in items if item.case.answerable and not _placed(item.case)]
    if unreadable:
        yield (
            f"{baseline.source} counts places in notes, and {len(unreadable)} questions of this run name ids alone: "
            f"{', '.join(unreadable[:5])}"
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


def _placed(case: Case) -> bool:
    return any(support.rel_path for support in case.gold_supports)


def _as_substrate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    from raggate.interop.substrate import metrics as compat
    from raggate.interop.substrate.cases import from_cases
    from raggate.interop.substrate.results import from_run

    cutoffs = tuple(scorecard.fingerprint.get("cutoffs", _CUTOFFS))
    rows = from_run(run)
    current: Slices = {}
    problems: list[str] = []
    for mode, slices in baseline.scorecard.slices.items():
        items = [item for item in run.results if item.result.mode == mode]
        counts = baseline.scorecard.counts.get(mode, {})
        if not items:
            continue
        cases = [item.case for item in items]
        if counts.get(OVERALL) == sum(case.answerable for case in cases):
            # their set has no question that expects nothing, as it would be a miss
            cases = [case for case in cases if case.answerable]
        asked = [query.row() for query in from_cases(cases)[0].queries]
        problems += _other_queries(baseline, mode, cases)
        joined = compat.join(asked, [row for row in rows if row["mode"] == mode_name(mode)], all_modes=True)
        table = compat.score(joined.asked, compat.Definitions(cutoffs=cutoffs)).get(mode_name(mode), {})
        current[mode] = {
            name: {
                metric: MetricValue(value=value, n=len(_sliced(cases, name)), unscored=0, direction=like.direction)
                for metric, like in wanted.items()
                if (value := table.get(name.removeprefix("difficulty="), {}).get(metric)) is not None
            }
            for name, wanted in slices.items()
        }
    return Restated(baseline=baseline, current=current, problems=tuple(problems))


def _other_queries(baseline: Baseline, mode: str, cases: Sequence[Case]) -> Iterator[str]:
    """Say why a metrics file of the search-improver is not of the questions of the run."""
    unnamed = [case.id for case in cases if case.answerable and not (_placed(case) or _documents(case))]
    if unnamed:
        yield (
            f"{baseline.source} counts documents, and {len(unnamed)} questions of this run name none: "
            f"{', '.join(unnamed[:5])}"
        )
    for name, count in baseline.scorecard.counts.get(mode, {}).items():
        if name == OVERALL or name.startswith("difficulty="):
            own = len(_sliced(cases, name))
            if count != own:
                where = "" if name == OVERALL else f" for {name}"
                yield f"the means of {baseline.source}{where} are over {count} questions, those of this run over {own}"


def _documents(case: Case) -> bool:
    return bool(case.expected_doc_ids) or any(support.doc_id for support in case.gold_supports)


def _sliced(cases: Sequence[Case], name: str) -> list[Case]:
    wanted = name.removeprefix("difficulty=")
    return [case for case in cases if name == OVERALL or case.difficulty == wanted]


def _with_counts(baseline: Baseline, current: Slices) -> Baseline:
    """Give a baseline the numbers of questions of the run, which its file does not tell for single means."""
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
