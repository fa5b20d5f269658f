"""A measured run and the baseline -> the review: compared, decided, and explained. The decision from end to end.

A whole run is decided on by `verdict`, one that asked a part of the questions by `partial_verdict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.config.imported import RunConfig
from raggate.gate import compare, completeness, flips, partial_verdict, promote, recheck, verdict, waivers
from raggate.gate.causes.diagnosis import diagnose
from raggate.gate.completeness import modes_without_past
from raggate.gate.flips import absent
from raggate.gate.invariants import invariants, list_drift
from raggate.inputs import golden
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Finding, Flip
from raggate.models.golden import Selection
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore, Scorecard
from raggate.models.verdict import ReportContext, Review, Verdict
from raggate.models.waiver import WaiverStatus
from raggate.scoring.score import first_answers
from raggate.text import dates

NO_CONTEXT = ReportContext()
"""Nothing is known beside the scores."""


def with_traces(run: Run, scores: Sequence[CaseScore], *several: Iterable[Flip]) -> list[tuple[Flip, ...]]:
    """Add to questions the trace id of their first answer, where one was sent; gives each group back.

    `scores` are those of the run.
    """
    groups = [tuple(flips) for flips in several]
    shown = {(flip.mode, flip.case_id) for flips in groups for flip in flips}
    results = (item.result for item in first_answers(run, shown, scores))
    ids = {(result.mode, result.case_id): result.trace_id for result in results}
    return [tuple(replace(flip, trace_id=ids.get((flip.mode, flip.case_id))) for flip in flips) for flips in groups]


def find_misses(run: Run, comparison: Comparison, flip_at: int) -> tuple[Flip, ...]:
    """Describe the questions of modes without a past whose passage is not within a rank.

    Those that must pass come first. A run that broke off has none: what it did not come to says nothing.

    Args:
        flip_at: rank within which a question counts as found.
    """
    modes = modes_without_past(comparison)
    if run.stopped is not None or not modes:
        return ()
    flips = absent(run, comparison.scorecard, modes, flip_at)
    return tuple(sorted(flips, key=lambda flip: (not flip.must_pass, flip.mode, flip.after is not None, flip.case_id)))


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
        baseline: the baseline, None when there is none.
        policy: a configuration whose gate, invariants and waivers count in place of those of the run.
        context: what is known beside the scores; a first run and resolved waivers have a say.
    """
    settings = policy or run.config
    with dates.after_asking(len(run.results)):
        if run.selection is not None:
            review = _of_part(run, scorecard, baseline, run.selection, settings, context)
        else:
            review = _of_whole(run, scorecard, baseline, settings, context)
        return _explained(review, settings.gate.flip_at)


def _of_whole(
    run: Run, scorecard: Scorecard, baseline: Baseline | None, settings: RunConfig, context: ReportContext
) -> Review:
    """Decide on all questions, a regression only as far as asking both builds again confirms it."""
    findings = _findings(run, scorecard, baseline, settings)
    waived = waivers.waiver_statuses(settings.waivers, run.started)

    def compared(scores: Scorecard, before: Baseline | None) -> Comparison:
        return _compared(run, scores, before, settings, waived, completeness.obstacles(scores, before))

    def decide(held: Comparison, gate: Gate) -> Verdict:
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
        decided = recheck.decided_again(
            decided,
            context.recheck,
            comparison,
            settings.gate,
            lambda scores, before, gate: decide(compared(scores, before), gate),
        )
    lowers = promote.needs_permission(run, comparison, settings.gate) if decided.outcome == "pass" else ()
    return Review(run=run, comparison=comparison, findings=findings, verdict=decided, context=context, lowers=lowers)


def _of_part(
    run: Run,
    scorecard: Scorecard,
    baseline: Baseline | None,
    selection: Selection,
    settings: RunConfig,
    context: ReportContext,
) -> Review:
    """Hold each question that was asked against its own past; `run` has the whole golden set."""
    waived = waivers.waiver_statuses(settings.waivers, run.started)
    run = replace(run, golden=golden.asked_of(run.golden, selection))
    scores = partial_verdict.without_slices(scorecard)
    incomparable = completeness.obstacles(scores, baseline)
    if baseline is not None and not baseline.paired:
        incomparable = (*incomparable, partial_verdict.NO_QUESTIONS)
    elif baseline is not None:
        baseline = partial_verdict.of_these(baseline, selection, scores)
    comparison = _compared(run, scores, baseline, settings, waived, incomparable)
    findings = _findings(run, scores, baseline, settings)
    decided = partial_verdict.decide(
        comparison,
        findings,
        settings.gate,
        selection,
        stopped=run.stopped,
        interrupted=run.interrupted,
        waived=waived,
    )
    return Review(run=run, comparison=comparison, findings=findings, verdict=decided, context=context)


def _findings(run: Run, scores: Scorecard, baseline: Baseline | None, settings: RunConfig) -> tuple[Finding, ...]:
    found = invariants.check_answers(run, settings.invariants, settings.gate)
    return (
        *list_drift.without_known_depths(found, scores, baseline),
        *list_drift.findings(scores, baseline, settings.invariants),
    )


def _compared(
    run: Run,
    scores: Scorecard,
    baseline: Baseline | None,
    settings: RunConfig,
    waived: Sequence[WaiverStatus],
    incomparable: tuple[str, ...],
) -> Comparison:
    return compare.compare(
        run,
        scores,
        baseline,
        flip_at=settings.gate.flip_at,
        min_slice=settings.gate.min_cases,
        incomparable=incomparable,
        waived=waivers.excused(waived, scores),
    )


def _explained(review: Review, flip_at: int) -> Review:
    """Add which questions got worse without breaking and why all of them did, and which nobody asked before miss."""
    fallen = flips.find_fallen(review.run, review.comparison, review.verdict, flip_at)
    diagnosis = diagnose(review.comparison, review.verdict, fallen)
    misses = find_misses(review.run, review.comparison, flip_at)
    scores, flipped = review.scorecard.cases, review.comparison.flips
    flipped, fallen, misses = with_traces(review.run, scores, flipped, fallen, misses)
    comparison = replace(review.comparison, flips=flipped)
    return replace(review, comparison=comparison, fallen=fallen, diagnosis=diagnosis, misses=misses)
