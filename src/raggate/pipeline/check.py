"""The way through the program as code: one short function per command. It composes the stages and decides nothing.

golden set + vault -> boot -> ask -> score -> compare -> decide -> report
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from raggate.config import schema
from raggate.config.imported import RunConfig
from raggate.errors import RaggateError, UsageError
from raggate.gate import completeness, promote, waivers
from raggate.gate.evaluation import evaluate_run
from raggate.gate.invariants import invariants
from raggate.inputs import sources, vault
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.golden import by_id
from raggate.models.promotion import BaselineCandidate
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.selection import EVERYTHING, Selection
from raggate.models.verdict import ReportContext, Review, SourceLine
from raggate.pipeline import (
    base_build,
    choosing,
    context_file,
    forge,
    measure,
    previewing,
    run_directory,
    stored_runs,
    trend,
)
from raggate.pipeline.failure_reports import begun
from raggate.pipeline.request import Request
from raggate.pipeline.result import CheckResult, RunResult
from raggate.pipeline.trusted_inputs import load_inputs, read_baseline
from raggate.reports import OF_REVIEW
from raggate.scoring import noise, score
from raggate.service import signals
from raggate.text import deadlines
from raggate.text.jsonio import write_atomic

KEPT_BASELINE = "baseline.json"
"""A run directory's copy of the baseline it was held against."""


def check(request: Request) -> CheckResult:
    """Do everything: boot, ask, score, compare, decide, report.

    Raises:
        RunFailed: for every way to end without a verdict; a run directory with the reason is then left too, unless
            nothing was started.
    """
    with load_inputs(request) as inputs:
        waivers.check_cases(inputs.config, inputs.golden, request.config_place)
        baseline = read_baseline(inputs)
        selection = choose(request, inputs)
        directory, measured, scorecard = measure.measure(request, inputs, baseline=baseline, selection=selection)
        return conclude(request, inputs, baseline, directory, measured, scorecard)


def conclude(
    request: Request,
    inputs: Inputs,
    baseline: Baseline | None,
    directory: Path,
    measured: Run,
    scorecard: Scorecard,
    *,
    source: Path | None = None,
) -> CheckResult:
    """Compare, decide and report a run and its scores in its directory.

    `source` is the directory that the run was read from, None for one that was just asked.
    """
    with ExitStack() as stack:
        begun(stack, lambda: directory, inputs.config)
        if inputs.baseline is not None:
            # the run directory tells by itself what it was held against
            write_atomic(directory / KEPT_BASELINE, inputs.baseline.data)
        own = source is None
        resolved = False
        if previewing.by_another_commit(inputs):
            with previewing.merged(request, previewing.measured_at(measured, asking=own)) as change:
                resolved = expired_waivers_resolved(change, request.config_name, measured.started)
        context = ReportContext(
            first_run=inputs.first_run,
            expired_waivers_resolved=resolved,
            root=run_directory.way_to(request.root, directory),
            forge=forge.notes_address(request, measured, first_run=inputs.first_run),
            trend=() if measured.selection is not None else trend.before(request, inputs, baseline, directory, source),
        )
        evaluation = evaluate_run(measured, scorecard, baseline, context=context)
        asked = base_build.recheck(request, inputs, directory, evaluation, own=own)
        if asked is not None:
            context = replace(context, recheck=asked)
            evaluation = evaluate_run(measured, scorecard, baseline, context=context)
        look = partial(previewing.preview_of, request, inputs, directory, evaluation, asking=own)
        review = with_source_lines(previewing.with_preview(evaluation, look), inputs)
        context_file.write(directory, review.context)
        write_reports(directory, review)
        signals.settle()
        return CheckResult(review=review, directory=directory)


def run(request: Request) -> RunResult:
    """Boot, ask and score; leave a run directory without a verdict.

    Raises:
        RunFailed: as `check`.
    """
    with load_inputs(request) as inputs:
        directory, measured, _ = measure.measure(request, inputs, selection=choose(request, inputs), command="run")
        return RunResult(run=measured, directory=directory)


def choose(request: Request, inputs: Inputs) -> Selection | None:
    """Return which questions are asked; None for all of them.

    Raises:
        UsageError: as `choosing.selected`.
    """
    if request.choice == EVERYTHING:
        return None
    selection = choosing.selected(request.choice, inputs.golden, partial(_broken, request, inputs))
    if selection is not None:
        request.say(f"{selection.sentence}; a partial run is never a pass, and cannot be promoted")
    return selection


def with_failed_fixed(request: Request) -> Request:
    """Return the request with the questions that `--failed` stands for now, whatever later runs say of them.

    Raises:
        RunFailed: when the inputs cannot be read, or no question is broken.
    """
    with load_inputs(request) as inputs:
        return replace(request, broken=_broken(request, inputs))


def _broken(request: Request, inputs: Inputs) -> frozenset[str]:
    return request.broken or stored_runs.broken(request.runs(inputs.config.out), inputs.config.suite)


def expired_waivers_resolved(change: sources.Source, config_name: str, started: str) -> bool:
    """Return whether a change's own configuration has no waiver left that has expired; it has no other say.

    Args:
        started: when the run began, ISO 8601.
    """
    try:
        settings = schema.load(change.read(config_name), change.describe(config_name))
    except (RaggateError, OSError):
        return False
    return all(waiver.state != "expired" for waiver in waivers.waiver_statuses(settings.waivers, started))


def write_reports(directory: Path, review: Review) -> None:
    """Write the reports of a verdict into a run directory."""
    with deadlines.after_asking(len(review.run.results)):
        run_directory.write_reports(directory, OF_REVIEW, review)


def propose(
    run: Run, settings: RunConfig, terms: promote.Terms, read: Callable[[], Baseline | None]
) -> BaselineCandidate:
    """Say what the baseline would be if a run became it.

    Args:
        terms: why, by whom, and whether lower values are accepted.
        read: reads the baseline there is, once the run is good enough; None when there is none.

    Raises:
        CannotTell: for a run that was not measured well enough.
        UsageError: for a run of another command, or one that is worse, that is not accepted as that, or a baseline that
            cannot be read.
    """
    scorecard = score.score(run, settings.score.k)
    findings = invariants.check_answers(run, settings.invariants, settings.gate)
    promote.refuse_unmeasured(run, scorecard, findings, settings.gate)
    promote.refuse_other_origin(run, terms.accepted_commands)
    present, problem = None, ""
    try:
        present = read()
    except UsageError as error:
        problem = error.message
        if not (terms.allow_regression and terms.reason):
            hint = f"Restore the file from git, or replace it: {terms.permission}."
            raise UsageError(error.message, hint=hint) from None
    incomparable = completeness.obstacles(scorecard, present)
    if present is not None and not incomparable:
        # how noisy the API is was measured for the comparisons to come too
        scorecard = noise.kept(scorecard, present.scorecard.fingerprint)
    return promote.propose(run, scorecard, present, settings.gate, terms, incomparable=incomparable, unreadable=problem)


def with_source_lines(review: Review, inputs: Inputs) -> Review:
    """Add where in the vault the gold supports of the questions that flipped stand."""
    cases = by_id(inputs.golden.cases)
    lines: dict[str, SourceLine] = {}
    with deadlines.after_asking(len(review.run.results)):
        for flip in (*review.comparison.flips, *review.fallen, *review.misses):
            if flip.support is not None:
                line = vault.locate(inputs.vault, flip.support, cases[flip.case_id].vaults, inputs.config.vault)
                if line is not None:
                    lines[flip.case_id] = line
    return replace(review, context=replace(review.context, source_lines=lines))
