"""Grades that judges gave, in a comparison: which metrics are of them, and with whose they can be compared. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.judging_quality import JUDGES
from raggate.models.scorecard import OVERALL, CaseScore, Scorecard
from raggate.models.verdict import Reason
from raggate.scoring.metrics import METRICS

JUDGED = {name: metric.judged for name, metric in METRICS.items() if metric.judged}
"""The score that judges give, by the metric that is of it."""


def is_judged(metric: str) -> bool:
    """Return whether a metric is of grades that judges give."""
    return metric in JUDGED


def by_these_judges(scorecard: Scorecard, baseline: Baseline | None) -> Baseline | None:
    """Return a baseline, without its judged metrics where those of the run are by other judges or prompts."""
    other = baseline is not None and other_judges(scorecard, baseline)
    return _without_judged(baseline) if baseline is not None and other else baseline


def floors(gate: Gate) -> dict[str, float]:
    """Return what the mean of a judged metric must not fall below, whatever the baseline, by gated metric."""
    return {name: rule.floor for name, rule in gate.rules().items() if name in JUDGED and rule.floor is not None}


def other_judges(scorecard: Scorecard, baseline: Baseline) -> bool:
    """Return whether two sides were not judged by the same; where nobody knows by whom, that is not known to be so."""
    now, before = scorecard.fingerprint.get(JUDGES), baseline.scorecard.fingerprint.get(JUDGES)
    return now != before or (now is None and (_has_grades(scorecard) or _had_grades(baseline)))


def not_compared(scorecard: Scorecard, baseline: Baseline) -> str:
    """Return why nothing is compared with the grades of other judges."""
    before, now = (JUDGES in side.fingerprint for side in (baseline.scorecard, scorecard))
    if not now and not _has_grades(scorecard):
        return "the baseline has judged metrics and the run was not judged, so nothing was compared with them"
    if not before and not _had_grades(baseline):
        return "the baseline was not judged, so no judged metric is compared"
    if not before or not now:
        whom = "the baseline" if not before else "the run"
        return f"who judged {whom} is not known, so nothing was compared with the judged metrics of the baseline"
    return "the judged metrics of the baseline are by other judges or prompts, with which nothing was compared"


def judged_by_others(comparison: Comparison) -> Iterator[Reason]:
    """Say that a baseline has grades by other judges or prompts, or the run has none: nothing was held against them.

    A worse answer may hide behind that, whoever had it graded anew.
    """
    baseline = comparison.baseline
    if baseline is None or not (_had_grades(baseline) or JUDGES in baseline.scorecard.fingerprint):
        return
    if other_judges(comparison.scorecard, baseline):
        yield Reason("judged-by-others", not_compared(comparison.scorecard, baseline))


def _has_grades(scorecard: Scorecard) -> bool:
    values = (
        value for parts in scorecard.slices.values() for name, value in parts.get(OVERALL, {}).items() if name in JUDGED
    )
    return any(value.value is not None for value in values)


def _had_grades(baseline: Baseline) -> bool:
    return baseline.other_grades or _has_grades(baseline.scorecard)


def _without_judged(baseline: Baseline) -> Baseline:
    card = baseline.scorecard
    slices = {
        mode: {name: {key: value for key, value in means.items() if key not in JUDGED} for name, means in parts.items()}
        for mode, parts in card.slices.items()
    }
    cases = tuple(map(_without, card.cases))
    return replace(baseline, scorecard=replace(card, slices=slices, cases=cases), other_grades=_has_grades(card))


def _without(case: CaseScore) -> CaseScore:
    return replace(case, values={name: value for name, value in case.values.items() if name not in JUDGED})
