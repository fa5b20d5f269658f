"""A partial run and the baseline -> the review of the questions that were asked, each held against its own past."""

from __future__ import annotations

from dataclasses import replace

from raggate.config.imported import RunConfig
from raggate.gate import compare, early_stop, selected, waivers
from raggate.gate.invariants import invariants, list_drift
from raggate.models.baseline import Baseline
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.selection import Selection
from raggate.models.verdict import ReportContext, Review


def review(
    run: Run,
    scorecard: Scorecard,
    baseline: Baseline | None,
    selection: Selection,
    settings: RunConfig,
    context: ReportContext,
) -> Review:
    """Compare a partial run and decide on its questions.

    Args:
        run: the run, with the whole golden set.
        scorecard: its scores.
        baseline: the baseline, None when there is none.
        selection: the questions it was to ask.
        settings: the configuration whose gate, invariants and waivers count.
        context: what is known beside the scores.
    """
    waived = waivers.waiver_statuses(settings.waivers, run.started)
    early = early_stop.shown_by(run, scorecard, baseline, settings.gate, waived) if selection.early else None
    run = replace(run, golden=selected.asked_of(run.golden, selection))
    scores = selected.without_slices(scorecard)
    incomparable = invariants.comparable(scores, baseline) if baseline is not None else ()
    if baseline is not None and not baseline.paired:
        incomparable = (*incomparable, selected.NO_QUESTIONS)
    elif baseline is not None:
        baseline = selected.of_these(baseline, selection, scores)
    comparison = compare.compare(
        run,
        scores,
        baseline,
        flip_at=settings.gate.flip_at,
        incomparable=incomparable,
        waived=waivers.excused(waived, scores),
    )
    findings = (
        *invariants.check_answers(run, settings.invariants, settings.gate),
        *list_drift.findings(scores, baseline, settings.invariants),
    )
    decided = selected.decide(
        comparison,
        findings,
        settings.gate,
        selection,
        stopped=run.stopped,
        interrupted=run.interrupted,
        waived=waived,
        early=early,
    )
    return Review(run=run, comparison=comparison, findings=findings, verdict=decided, context=context)
