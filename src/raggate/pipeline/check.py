"""The way through the program as code: one short function per command. It composes the stages and decides nothing.

golden set + vault -> boot -> ask -> score -> compare -> decide -> report
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from raggate.config import schema
from raggate.config.imported import RunConfig
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.gate import (
    compare,
    confirmation,
    flips,
    invariants,
    latency,
    list_drift,
    merge_effects,
    preview,
    promote,
    run_origin,
    verdict,
    waivers,
)
from raggate.gate.diagnosis import diagnose
from raggate.gate.misses import find_misses
from raggate.gate.traces import with_traces
from raggate.inputs import sources, vault
from raggate.inputs.trusted import Inputs, load_worktree
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.promotion import BaselineCandidate
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.selection import EVERYTHING, Selection
from raggate.models.verdict import Preview, ReportContext, Review, SourceLine, Verdict
from raggate.pipeline import (
    base_build,
    choosing,
    forge,
    judging,
    measure,
    partial_check,
    run_directory,
    stored_runs,
    trend,
)
from raggate.pipeline.latency import compare_latency
from raggate.pipeline.request import Request
from raggate.pipeline.result import CheckResult, RunResult
from raggate.pipeline.trusted_inputs import check_names, load_inputs, read_baseline, source_of
from raggate.reports import OF_REVIEW
from raggate.scoring import noise, score
from raggate.text import deadlines
from raggate.text.jsonio import write_atomic

NO_CONTEXT = ReportContext()
"""Nothing is known beside the scores."""

KEPT_BASELINE = "baseline.json"
"""A run directory's copy of the baseline it was held against."""


def check(request: Request) -> CheckResult:
    """Do everything: boot, ask, score, compare, decide, report.

    Raises:
        RunFailed: for every way to end without a verdict; a run directory with the reason is then left too, unless
            nothing was started.
    """
    with load_inputs(request) as inputs:
        waivers.check_cases(inputs.config, inputs.golden, request.config_name)
        baseline = read_baseline(inputs, request.systems)
        selection = choose(request, inputs)
        directory, measured, scorecard = measure.measure(request, inputs, baseline=baseline, selection=selection)
        with measure.failure_reports(directory, inputs.config):
            if inputs.baseline is not None:
                # the run directory tells by itself what it was held against
                write_atomic(directory / KEPT_BASELINE, inputs.baseline.data)
            change = sources.WorkTree(request.root, confined=True)
            resolved = _by_another_commit(inputs) and expired_waivers_resolved(
                change, request.config_name, measured.started
            )
            context = ReportContext(
                first_run=inputs.first_run,
                expired_waivers_resolved=resolved,
                root=run_directory.way_to(request.root, directory),
                forge=forge.notes_address(request, measured, first_run=inputs.first_run),
                trend=() if selection is not None else trend.before(request, inputs, directory),
            )
            evaluation = evaluate_run(measured, scorecard, baseline, context=context)
            asked = base_build.recheck(request, inputs, directory, evaluation)
            times = compare_latency(request, inputs, directory, evaluation)
            if asked is not None or times is not None:
                context = replace(context, recheck=asked, latency=times)
                evaluation = evaluate_run(measured, scorecard, baseline, context=context)
            review = with_preview(evaluation, lambda: _preview(request, inputs, directory, evaluation))
            review = with_source_lines(review, inputs)
            run_directory.write_context(directory, review.context)
            write_reports(directory, review)
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
    """Say which questions are asked; None for all of them.

    Raises:
        UsageError: as `choosing.selected`.
    """
    if request.choice == EVERYTHING:
        return None
    out = request.out or request.root / inputs.config.out
    suite = inputs.config.suite
    selection = choosing.selected(request.choice, inputs.golden, lambda: stored_runs.broken(out, suite))
    if selection is not None:
        request.say(f"{selection.sentence}; a partial run is never a pass, and cannot be promoted")
    return selection


def evaluate_run(
    run: Run,
    scorecard: Scorecard,
    baseline: Baseline | None,
    *,
    policy: RunConfig | None = None,
    context: ReportContext = NO_CONTEXT,
) -> Review:
    """Compare a measured run and decide.

    Args:
        run: the run.
        scorecard: its scores.
        baseline: the baseline, None when there is none.
        policy: a configuration whose gate, invariants and waivers count in place of those of the run.
        context: what is known beside the scores; a first run and resolved waivers have a say.
    """
    settings = policy or run.config
    with deadlines.after_asking(len(run.results)):
        if run.selection is not None:
            part = partial_check.review(run, scorecard, baseline, run.selection, settings, context)
            return _explained(part, settings.gate.flip_at)
        return _evaluate(run, scorecard, baseline, settings, context)


def _evaluate(
    run: Run, scorecard: Scorecard, baseline: Baseline | None, settings: RunConfig, context: ReportContext
) -> Review:
    findings = (
        *invariants.check_answers(run, settings.invariants, settings.gate),
        *list_drift.findings(scorecard, baseline, settings.invariants),
    )
    waived = waivers.waiver_statuses(settings.waivers, run.started)

    def compared(scores: Scorecard, before: Baseline | None) -> Comparison:
        return compare.compare(
            run,
            scores,
            before,
            flip_at=settings.gate.flip_at,
            min_slice=settings.gate.min_slice,
            incomparable=invariants.comparable(scores, before) if before else (),
            waived=waivers.excused(waived, scores),
        )

    def decide(held: Comparison, gate: schema.Gate) -> Verdict:
        return verdict.decide(
            held,
            findings,
            gate,
            stopped=run.stopped,
            interrupted=run.interrupted,
            first_run=context.first_run,
            started=run.started,
            waived=waived,
            expired_waivers_resolved=context.expired_waivers_resolved,
        )

    comparison = compared(scorecard, baseline)
    decided = decide(comparison, settings.gate)
    if decided.outcome == "regression" and context.recheck is not None:
        decided = confirmation.rejudged(
            decided,
            context.recheck,
            comparison,
            settings.gate,
            lambda scores, before, gate: decide(compared(scores, before), gate),
        )
    decided = latency.judged(decided, context.latency)
    lowers = promote.needs_permission(run, comparison, settings.gate) if decided.outcome == "pass" else ()
    return _explained(
        Review(run=run, comparison=comparison, findings=findings, verdict=decided, context=context, lowers=lowers),
        settings.gate.flip_at,
    )


def _explained(review: Review, flip_at: int) -> Review:
    """Add which questions got worse without breaking and why all of them did, and which nobody asked before miss."""
    fallen = flips.find_fallen(review.run, review.comparison, review.verdict, flip_at)
    diagnosis = diagnose(review.comparison, review.verdict, fallen)
    misses = find_misses(review.run, review.comparison, flip_at)
    flipped, fallen, misses = with_traces(review.run, review.comparison.flips, fallen, misses)
    comparison = replace(review.comparison, flips=flipped)
    return replace(review, comparison=comparison, fallen=fallen, diagnosis=diagnosis, misses=misses)


def _by_another_commit(inputs: Inputs) -> bool:
    """Say whether another commit's files judge, beside which those of the working tree are a change."""
    return inputs.against is not None and not inputs.first_run


def expired_waivers_resolved(change: sources.Source, config_name: str, started: str) -> bool:
    """Say whether a change's own configuration has no waiver left that has expired; it has no other say.

    Args:
        change: the change's files.
        config_name: the configuration's name in them.
        started: when the run began, ISO 8601.
    """
    try:
        settings = schema.load(change.read(config_name), change.describe(config_name))
    except (RaggateError, OSError):
        return False
    return all(waiver.state != "expired" for waiver in waivers.waiver_statuses(settings.waivers, started))


def with_preview(review: Review, look: Callable[[], Preview | None]) -> Review:
    """Add what the change's own files would mean, or why that cannot be said, and what it makes of the verdict.

    Raises:
        RaggateError: when looking was interrupted; any other error is a part of the preview.
    """
    try:
        change = look()
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        change = preview.failed(error)
    return previewed(review, change)


def previewed(review: Review, change: Preview | None) -> Review:
    """Add what the change's own files would mean, and what that makes of the verdict."""
    decided = merge_effects.foreseen(review.verdict, change, review.comparison)
    lowers = review.lowers if decided.outcome == "pass" else ()
    return replace(review, context=replace(review.context, preview=change), verdict=decided, lowers=lowers)


def write_reports(directory: Path, review: Review) -> None:
    """Write the reports of a verdict into a run directory."""
    with deadlines.after_asking(len(review.run.results)):
        run_directory.write_reports(directory, OF_REVIEW, review)


def propose(
    run: Run, settings: RunConfig, terms: promote.Terms, read: Callable[[], Baseline | None]
) -> BaselineCandidate:
    """Say what the baseline would be if a run became it.

    Args:
        run: the run.
        settings: the configuration whose policy counts.
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
    run_origin.refuse_other_origin(run, terms.accepted_commands)
    present, problem = None, ""
    try:
        present = read()
    except UsageError as error:
        problem = error.message
        if not (terms.allow_regression and terms.reason):
            hint = f"Restore the file from git, or replace it: {terms.permission}."
            raise UsageError(error.message, hint=hint) from None
    incomparable = invariants.comparable(scorecard, present) if present else ()
    if present is not None and not incomparable:
        # how noisy the API is was measured for the comparisons to come too
        scorecard = noise.kept(scorecard, present.scorecard.fingerprint)
    return promote.propose(run, scorecard, present, settings.gate, terms, incomparable=incomparable, unreadable=problem)


def with_source_lines(review: Review, inputs: Inputs) -> Review:
    """Add where in the vault the gold supports of the questions that flipped stand."""
    cases = {case.id: case for case in inputs.golden.cases}
    lines: dict[str, SourceLine] = {}
    with deadlines.after_asking(len(review.run.results)):
        for flip in (*review.comparison.flips, *review.fallen, *review.misses):
            if flip.support is not None:
                line = vault.locate(inputs.vault, flip.support, cases[flip.case_id].vaults, inputs.config.vault)
                if line is not None:
                    lines[flip.case_id] = line
    return replace(review, context=replace(review.context, source_lines=lines))


def _preview(request: Request, inputs: Inputs, directory: Path, review: Review) -> Preview | None:
    """Say what the working tree's own files would mean; where questions or notes differ, they are measured too."""
    if not _by_another_commit(inputs) or review.run.selection is not None:
        return None
    if not inputs.ignored:
        return Preview()
    change = load_worktree(
        replace(source_of(request), baseline_file=None),
        lambda settings, name: check_names(request.overrides.apply(settings), name),
    )
    judging.check_files(change)
    changes = preview.changes(inputs, change, score.directions(inputs.config.score.k), request.systems)
    same = (change.golden.hash, change.vault.hash) == (inputs.golden.hash, inputs.vault.hash)
    if same or review.run.stopped is not None:
        return changes
    request.say("measuring the change's own questions and notes too, which decides nothing")
    # its settings have no say, not even here
    once = replace(inputs, config=inputs.config.asking_once())
    mixed = replace(once, golden=change.golden, vault=change.vault, baseline=None)
    _, again, scorecard = measure.measure(request, mixed, directory)
    problems = (again.stopped,) if again.stopped else ()
    rows = preview.advisory_rows(review.scorecard, scorecard)
    return replace(changes, rows=rows, problems=(*changes.problems, *problems))
