"""Run directories of helloworld and a golden set, read for `raggate helloworld`: paths in, runs and sides out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.files import read_file
from raggate.base.numbers import counted
from raggate.base.quote import quoted
from raggate.inputs import golden
from raggate.models.golden import Case, Golden, digest
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.scoring import score
from raggate_interop.helloworld import baseline, judged, metrics as helloworld_metrics, read as reader
from raggate_interop.helloworld.read import RunFiles
from raggate_interop.terminal import warn

_BEFORE_REDACT = "Use the run with its texts, or average its scores with `score --aggregate-only`."
_RIGHT_SET = "Is it the right eval set?"


def scored(directory: Path, golden_file: Path, *, stored: bool = False) -> tuple[RunFiles, Run, Scorecard]:
    """Read a run as one of raggate and score it.

    Args:
        stored: whether what the run itself stores is asked for, which a run without texts has, too.
    """
    files = reader.read(directory)
    cases = _asked_part(files, _load(golden_file))
    blind = _without_texts(files, {case.id: case for case in cases.cases})
    if blind and not stored:
        raise UsageError(blind, hint=_BEFORE_REDACT)
    if blind:
        warn(f"{blind}: raggate's own numbers count them as misses")
    run = reader.to_run(files, cases)
    return files, run, score.score(run, sorted({1, 3, 5, 10, files.k}))


def with_scores_of_judges(
    files: RunFiles, run: Run, judge_cache: Path | None, judge_model: str | None, judge_prompt_version: str | None
) -> Run:
    """Return a run with the scores of its judges: those of the rows, and of a cache where a row has none.

    Scores of a row whose `judge_input` is not what stands in the row were given to another answer, and are left out.
    """
    model = judge_model or files.config.get("judge_model") or ""
    version = judge_prompt_version or files.config.get("judge_prompt_version") or judged.PROMPT_VERSION
    named = {"model": str(model), "version": str(version)}
    strangers = [row for row in files.rows if judged.of_another_answer(row)]
    for row in strangers:
        warn(f"question {quoted(row['test_case_id'])}: left out its judges' scores: judge_input is another answer's")
    rows: Sequence[Mapping[str, Any]] = [judged.without_scores(row) if row in strangers else row for row in files.rows]
    if judge_cache is not None:
        cache = judged.read_cache(read_file(judge_cache), str(judge_cache))
        rows = [judged.with_cached(row, cache, **named) for row in rows]
    return judged.judged(run, rows, **named)


def sides(directories: Sequence[Path], golden_file: Path | None) -> list[RunFiles]:
    """Read runs; with a golden set the rows, and the means of the questions that all have, are computed again."""
    runs = [reader.read(directory) for directory in directories]
    cases = {case.id: case for case in _load(golden_file).cases} if golden_file is not None else {}
    asked = [{row["test_case_id"] for row in files.rows} for files in runs if files.rows]
    common = set(cases).intersection(*asked)
    result = []
    for files in runs:
        rows: Sequence[Mapping[str, Any]] = files.rows
        aggregates = files.aggregates
        if golden_file is not None and rows:
            rows, means = _rescored(files, cases, common)
            aggregates = {**aggregates, **means}
        elif golden_file is not None:
            warn(f"{files.run_id}: results.jsonl is missing or empty, so the means of metrics.json count")
        elif not files.scored:
            warn(f"{files.run_id}: metrics.json has no scores. With --golden raggate computes them from results.jsonl")
        metrics = {**files.metrics, "aggregate_metrics": aggregates}
        result.append(replace(files, metrics=metrics, rows=tuple(rows)))
    return result


def _rescored(
    files: RunFiles, cases: Mapping[str, Case], common: Collection[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the scored rows of the golden set's cases, and the means over those of them that are `common`."""
    labelled = [row for row in files.rows if row["test_case_id"] in cases]
    if blind := _without_texts(files, cases):
        raise UsageError(blind, hint=_BEFORE_REDACT)
    if not labelled:
        raise UsageError(f"no row of {files.run_id} is of a case in the golden set", hint=_RIGHT_SET)
    if len(labelled) < len(files.rows):
        count = len(files.rows) - len(labelled)
        warn(f"{files.run_id}: {counted(count, 'row')} left out, of cases the golden set does not have")
    rows = helloworld_metrics.scored(labelled, cases)
    means = helloworld_metrics.aggregate([row for row in rows if row["test_case_id"] in common], cases)
    # what was stored is of other questions, or by other labels
    return rows, {**dict.fromkeys(helloworld_metrics.MEANS.values()), **means}


def _without_texts(files: RunFiles, cases: Mapping[str, Case]) -> str:
    """The warning that snippets cannot be found in rows without texts; empty if they have texts."""
    rows = (row for row in files.rows if row["test_case_id"] in cases and reader.without_texts(row))
    blind = sum(any(support.snippets for support in cases[row["test_case_id"]].gold_supports) for row in rows)
    if not blind:
        return ""
    return f"run {files.run_id}: {counted(blind, 'row')} without texts, where no snippet can match"


def _asked_part(files: RunFiles, cases: Golden) -> Golden:
    """Return the part of the golden set that a run asked, and say what does not fit."""
    if not files.rows:
        raise UsageError(
            f"run {files.run_id}: results.jsonl is missing or empty, so there is nothing to score",
            hint="It is not in git there: run this on the machine that made the run.",
        )
    ids = {case.id for case in cases.cases}
    strangers = [row["test_case_id"] for row in files.rows if row["test_case_id"] not in ids]
    if strangers:
        warn(f"{counted(len(strangers), 'row')} left out, of cases that {cases.name} does not have: {strangers[0]}")
    rates = files.aggregates.get("operational_metrics") or {}
    failed = baseline.failed_calls(len(files.rows), rates.get("error_rate") or 0.0)
    asked = reader.asked_cases(files, cases, failed)
    if len(strangers) == len(files.rows) or not asked:
        raise UsageError(f"no row of {files.run_id} is of a case in {cases.name}", hint=_RIGHT_SET)
    if len(asked) < len(cases.cases):
        warn(f"{counted(len(cases.cases) - len(asked), 'question')} of {cases.name} not asked")
        return replace(cases, cases=asked, hash=digest(list(asked)))
    return cases


def _load(golden_file: Path) -> Golden:
    return golden.load(read_file(golden_file), str(golden_file))
