"""A run's means by substrate's definitions, to be compared with a metrics file of theirs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from raggate.config.retrieval_modes import mode_name
from raggate.models.baseline import Baseline, Restated, Slices
from raggate.models.fingerprint import cutoffs_of
from raggate.models.golden import Case
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, MetricValue, Scorecard
from raggate.text.numbers import counted
from raggate_interop.substrate import metrics
from raggate_interop.substrate.cases import from_cases
from raggate_interop.substrate.results import from_run


def restate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    """Score a run as substrate would; a mean is never compared with one of other questions.

    Raises:
        UsageError: where their code would stop.
    """
    baseline = _with_modes_of(scorecard, baseline)
    cutoffs = cutoffs_of(scorecard.fingerprint) or metrics.CUTOFFS
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
        asked = [query.row() for query in from_cases(cases)]
        problems += _other_queries(baseline, mode, cases)
        joined = metrics.join(asked, [row for row in rows if row["mode"] == mode_name(mode)], all_modes=True)
        table = metrics.score(joined.asked, metrics.Definitions(cutoffs=cutoffs)).get(mode_name(mode), {})
        current[mode] = {
            name: {
                metric: MetricValue(value=value, n=len(_sliced(cases, name)), unscored=0, direction=like.direction)
                for metric, like in wanted.items()
                if (value := table.get(name.removeprefix("difficulty="), {}).get(metric)) is not None
            }
            for name, wanted in slices.items()
        }
    return Restated(baseline=baseline, current=current, problems=tuple(problems))


def _with_modes_of(scorecard: Scorecard, baseline: Baseline) -> Baseline:
    """Return the modes of a baseline the names that the run has for them: `bm25` and `fts` are one mode there."""
    stored = baseline.scorecard
    if len({mode_name(mode) for mode in stored.slices}) != len(stored.slices):
        return baseline
    by_name = {mode_name(mode): mode for mode in scorecard.slices}
    names = {mode: by_name.get(mode_name(mode), mode) for mode in stored.slices}
    slices = {names[mode]: value for mode, value in stored.slices.items()}
    counts = {names.get(mode, mode): value for mode, value in stored.counts.items()}
    return replace(baseline, scorecard=replace(stored, slices=slices, counts=counts))


def _other_queries(baseline: Baseline, mode: str, cases: Sequence[Case]) -> Iterator[str]:
    """Yield why a metrics file of theirs is not of the questions of the run."""
    unnamed = [case.id for case in cases if case.answerable and not _names_a_document(case)]
    if unnamed:
        yield (
            f"{baseline.source} counts documents, and {counted(len(unnamed), 'question')} of this run "
            f"{'names' if len(unnamed) == 1 else 'name'} none: "
            f"{', '.join(unnamed[:5])}"
        )
    for name, count in baseline.scorecard.counts.get(mode, {}).items():
        if name == OVERALL or name.startswith("difficulty="):
            own = len(_sliced(cases, name))
            if count != own:
                where = "" if name == OVERALL else f" for {name}"
                yield f"the means of {baseline.source}{where} are over {count} questions, those of this run over {own}"


def _names_a_document(case: Case) -> bool:
    return bool(case.expected_doc_ids) or any(support.rel_path or support.doc_id for support in case.gold_supports)


def _sliced(cases: Sequence[Case], name: str) -> list[Case]:
    wanted = name.removeprefix("difficulty=")
    return [case for case in cases if name == OVERALL or case.difficulty == wanted]
