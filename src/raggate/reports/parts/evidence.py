"""What the questions show together, what so many of them can show, and how answers were judged. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raggate.base.jsonio import as_dict
from raggate.base.numbers import chance, counted, dollars, percent, points, setting, written
from raggate.base.quote import enumerated
from raggate.config.judge_settings import CANARY_FLOOR
from raggate.models.judging import Canary, CanaryAgreement, JudgingSummary, Spending, SpotCheck, judges_of
from raggate.models.metric_names import UNJUDGED, at_depth, depth
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, Scorecard
from raggate.models.verdict import CompositeEvidence, CompositeTest, Review
from raggate.scoring.figures import title


def sentence(scorecard: Scorecard) -> str:
    """Which share of the passages at each cut-off is unjudged; nothing where all are judged or none came back."""
    parts = []
    for mode, slices in scorecard.slices.items():
        values = slices.get(OVERALL, {})
        depths = sorted(k for metric in values if (k := depth(metric)) and metric == at_depth(UNJUDGED, k))
        shares = {k: share for k in depths if (share := values[at_depth(UNJUDGED, k)].value) is not None}
        several = f"{mode} " if scorecard.several_modes else ""
        if any(shares.values()):
            parts.append(several + " · ".join(f"unjudged@{k} {percent(share)}" for k, share in shares.items()))
    return f"{'; '.join(parts)}: passages without a label count as misses." if parts else ""


def lines_of(review: Review) -> list[str]:
    """Return how far the lists are judged, and then what the questions show together."""
    return [*filter(None, [sentence(review.scorecard)]), *sentences(review)]


def sentences(review: Review) -> list[str]:
    """How the questions moved together, and then which drop is seen; nothing where nothing is compared."""
    evidence, baseline = review.verdict.evidence, review.comparison.baseline
    if evidence is None or baseline is None or review.comparison.incomparable:
        return []
    if evidence.tests:
        return [*_moves(evidence), _resolution(evidence)]
    why = "The baseline has no individual questions to compare"
    if baseline.paired:
        why = "No metric of gate.composite, waived ones aside, applies to a question that is the same on both sides"
    return [f"{why}, so tolerances alone decide."]


def _moves(evidence: CompositeEvidence) -> Iterator[str]:
    several = len(evidence.tests) > 1
    for test in evidence.tests:
        if test.lost or test.gained:
            mode = f" ({test.mode})" if several else ""
            adjusted = f", adjusted for {len(evidence.tests)} modes" if several else ""
            means = f"{written(test.before, beside=test.after)} → {written(test.after, beside=test.before)}"
            means = f"{enumerated([*map(title, test.parts)])} together{mode}: {means}"
            result = f"{chance(test.adjusted)}{adjusted} ({test.test})"
            yield f"{means}, {_lost(test)}. That questions like these got worse: {result}."


def _lost(test: CompositeTest) -> str:
    """Return how many questions got worse and better, and in which metrics, where not in all of them."""
    carried = sorted((part for part in test.parts if test.parts[part]), key=lambda part: -test.parts[part])
    several = test.lost and {*test.parts.values()} - {test.lost}
    named = ", ".join(f"{title(part)} in {test.parts[part]}" for part in carried)
    parts = f" ({named})" if several else ""
    return f"{test.lost} of {counted(test.cases, 'question')} worse{parts}, {test.gained} better"


def _resolution(evidence: CompositeEvidence) -> str:
    worst = max(evidence.tests, key=lambda test: test.visible_drop)
    if any(test.fewest_losses is None for test in evidence.tests):
        few = min(evidence.tests, key=lambda test: test.units)
        mode = f" ({few.mode})" if len(evidence.tests) > 1 else ""
        blind = "no loss can be distinguished from chance, so only an exceeded tolerance shows a loss"
        return f"With {_units(few)}{mode} {blind}."
    odds = f"1 of {round(1 / evidence.harmless_red)} runs" if evidence.harmless_red else ""
    often = f" A harmless change is red in {odds} under `gate.policy: threshold`." if odds else ""
    seen = f"a drop of {points(worst.told_drop)} is seen 4 times in 5, as a warning or red"
    return f"With {_units(worst)} {seen}, and one of {points(worst.visible_drop)} is red.{often}"


def _units(test: CompositeTest) -> str:
    groups = f" in {counted(test.units, 'group')}" if test.units != test.cases else ""
    return counted(test.cases, "question") + groups


def stored(run: Run) -> dict[str, Any] | None:
    """Return it for programs; None where nothing was judged."""
    summary = JudgingSummary.of(run.fingerprint)
    if summary is None:
        return None
    spending = None if run.judging is None else as_dict(run.judging.spending)
    mode = None if run.judging is None else run.judging.mode
    return {**summary.stored(), "by": list(_judges(run)), "spending": spending, "mode": mode}


def judging_sentences(run: Run) -> Iterator[str]:
    """Yield how answers were judged, a sentence for each: coverage, canary, spot check, cost."""
    summary = JudgingSummary.of(run.fingerprint)
    if summary is None:
        return
    gaps = {
        name: f" (not judged: {coverage.gaps})" if coverage.gaps else "" for name, coverage in summary.scores.items()
    }
    how_far = ", ".join(f"{name} {own.judged} of {own.expected}{gaps[name]}" for name, own in summary.scores.items())
    yield f"Judged by {', '.join(_judges(run)) or 'judges that are not named'}: {how_far}."
    yield (
        _canary(summary.canary) if summary.canary is not None else "No canary set says whether that agrees with people."
    )
    if (check := summary.spot_check) is not None:
        yield f"{spot_check(check)}."
    if run.judging is not None:
        yield f"Spent on judges in this run: {spent(run.judging.spending)}."


def spot_check(check: SpotCheck) -> str:
    """Return how far a second opinion disagrees."""
    rate = "no rate" if check.disagreement_rate is None else f"{percent(check.disagreement_rate)} disagree"
    return f"Judged once more by {check.who}: {rate}, of {counted(check.spot_check_n, 'answer')}"


def _judges(run: Run) -> Iterator[str]:
    for model, build in judges_of(run.fingerprint):
        yield f"{model} ({build})" if build else model


def _canary(canary: Canary) -> str:
    if not canary.scores:
        return "The canary set has no case of what was judged."
    agreements = ", ".join(f"{name} {_agreement(agreement)}" for name, agreement in canary.scores.items())
    replayed = ", answered by the cassette" if canary.replayed else ""
    floor = setting(CANARY_FLOOR)
    return f"Agreement with people, as kappa with quadratic weights: {agreements}, floor {floor}{replayed}."


def _agreement(agreement: CanaryAgreement) -> str:
    if agreement.kappa is None or agreement.low is None or agreement.high is None:
        return f"not defined on {agreement.judged} of {counted(agreement.cases, 'case')}"
    interval = f"[{written(agreement.low)}, {written(agreement.high)}]"
    return f"{written(agreement.kappa)} {interval} on {agreement.judged} of {counted(agreement.cases, 'case')}"


def spent(spending: Spending) -> str:
    """Return what judges cost: calls, tokens and money."""
    cost = "cost not known" if spending.usd is None else dollars(spending.usd)
    untold = f", usage not reported for {counted(spending.untold, 'call')}" if spending.untold else ""
    refused = f", {spending.refused} not made because of the budget" if spending.refused else ""
    calls = f"{counted(spending.calls, 'call')}, {spending.retries} of them retries{refused}"
    return f"{calls}, {counted(spending.tokens, 'token')}{untold}, {cost}"
