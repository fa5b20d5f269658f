"""A measured run and the baseline -> the review: compared, decided, and explained. The decision from end to end."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from raggate.base import dates
from raggate.config.imported import RunConfig
from raggate.gate import compare, completeness, flips, promote, recheck, verdict, waivers
from raggate.gate.causes.diagnosis import diagnose
from raggate.gate.flips import absent
from raggate.gate.invariants import invariants, list_drift
from raggate.gate.judge_advice import ungraded
from raggate.gate.reach import modes_without_past
from raggate.inputs import golden
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Finding, Flip
from raggate.models.golden import Selection
from raggate.models.provenance import cutoffs_of
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, Scorecard
from raggate.models.verdict import ReportContext, Review
from raggate.models.waiver import WaiverStatus
from raggate.scoring.score import SliceMeans, directions

_NO_QUESTIONS = "the baseline has no single questions, so a part of them cannot be compared with it"

NO_CONTEXT = ReportContext()
"""Nothing is known beside the scores."""


def find_misses(run: Run, comparison: Comparison) -> tuple[Flip, ...]:
    """Describe the questions of modes without a past whose passage is not within a rank.

    Those that must pass come first. A run that broke off has none: what it did not come to says nothing.
    """
    modes = modes_without_past(comparison)
    if run.stopped is not None or not modes:
        return ()
    flips = absent(run, comparison.scorecard, modes)
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
    waived = waivers.waiver_statuses(settings.waivers, run.started)
    around = _circumstances(run, context, waived)
    with dates.after_asking(len(run.results)):
        if run.selection is not None:
            run = replace(run, golden=golden.asked_of(run.golden, run.selection))
            scorecard = _without_slices(scorecard)
        findings = _findings(run, scorecard, baseline, settings)

        def compared(scores: Scorecard, before: Baseline | None) -> Comparison:
            return _compared(run, scores, before, settings, waived)

        comparison = compared(scorecard, baseline)
        decided = verdict.decide(comparison, findings, settings.gate, around)
        if decided.outcome == "regression" and context.recheck is not None:
            decided = recheck.decided_again(
                decided,
                context.recheck,
                comparison,
                settings.gate,
                lambda scores, before, gate: verdict.decide(compared(scores, before), findings, gate, around),
            )
        lowers = promote.needs_permission(run, comparison, settings.gate) if decided.outcome == "pass" else ()
        review = Review(
            run=run, comparison=comparison, findings=findings, verdict=decided, context=context, lowers=lowers
        )
        return _explained(review)


def _circumstances(run: Run, context: ReportContext, waived: Sequence[WaiverStatus]) -> verdict.Circumstances:
    return verdict.Circumstances(
        selection=run.selection,
        stopped=run.stopped,
        interrupted=run.interrupted,
        first_run=context.first_run,
        started=run.started,
        build=run.provenance.build,
        waived=waived,
        waivers_resolved=context.expired_waivers_resolved,
    )


def _without_slices(scorecard: Scorecard) -> Scorecard:
    """Leave out every slice but that of all questions: of a part, it is what was chosen."""
    slices = {mode: {OVERALL: values[OVERALL]} for mode, values in scorecard.slices.items() if OVERALL in values}
    counts = {mode: {OVERALL: values.get(OVERALL, 0)} for mode, values in scorecard.counts.items()}
    return replace(scorecard, slices=slices, counts=counts)


def _of_these(baseline: Baseline, selection: Selection, scorecard: Scorecard) -> Baseline:
    """Return a baseline as if it had asked these questions alone, without grades, which a partial run has not."""
    asked, modes = frozenset(selection.asked), scorecard.slices.keys()
    cases = tuple(
        replace(case, values=ungraded(case.values))
        for case in baseline.scorecard.cases
        if case.case_id in asked and case.mode in modes
    )
    of_all = SliceMeans(directions(cutoffs_of(scorecard.fingerprint)))
    for case in cases:
        of_all.add(case, (OVERALL,))
    return replace(
        baseline, scorecard=replace(baseline.scorecard, cases=cases, slices=of_all.means(), counts=of_all.counts())
    )


def _findings(run: Run, scores: Scorecard, baseline: Baseline | None, settings: RunConfig) -> tuple[Finding, ...]:
    found = invariants.check_answers(run, settings.invariants, settings.gate)
    return (
        *list_drift.without_known_depths(found, scores, baseline),
        *list_drift.findings(scores, baseline, settings.invariants),
    )


def _compared(
    run: Run, scores: Scorecard, baseline: Baseline | None, settings: RunConfig, waived: Sequence[WaiverStatus]
) -> Comparison:
    incomparable = completeness.obstacles(scores, baseline)
    if baseline is not None and run.selection is not None:
        if baseline.paired:
            baseline = _of_these(baseline, run.selection, scores)
        else:
            incomparable = (*incomparable, _NO_QUESTIONS)
    return compare.compare(
        run,
        scores,
        baseline,
        min_slice=settings.gate.min_cases,
        incomparable=incomparable,
        waived=waivers.excused(waived, scores),
    )


def _explained(review: Review) -> Review:
    fallen = flips.find_fallen(review.run, review.comparison, review.verdict)
    diagnosis = diagnose(review.run, review.comparison, review.verdict, fallen)
    misses = find_misses(review.run, review.comparison)
    return replace(review, fallen=fallen, diagnosis=diagnosis, misses=misses)
