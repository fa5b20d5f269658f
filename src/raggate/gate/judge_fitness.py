"""Which judges are fit to decide. Pure.

A judge is fit for a score where nearly all answers were judged, and where it agrees with people on a canary set: no
less than a floor, and not clearly less than when the baseline was measured. Else what it scored is advisory: it is
shown and decides nothing, and the verdict says so in its first lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from raggate.gate.judged_metrics import JUDGED, not_compared, other_judges
from raggate.models.comparison import Comparison
from raggate.models.judging_quality import CanaryAgreement, Coverage, JudgingSummary
from raggate.models.scorecard import EPSILON, OVERALL, improvement
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import figures
from raggate.text.numbers import counted, percent, setting, written

LEAST_CANARY = 20
"""Cases of a canary set that must have been judged: fewer tell too little of a judge."""

MOST_DISAGREEMENT = 0.2
"""The rate of a spot check above which judges are called unstable."""

# faithfulness is counted from the reply that groundedness is taken from
_CANARY_OF = {"faithfulness": "groundedness"}


def unfit(comparison: Comparison) -> dict[str, str]:
    """Say by judged metric of the run why its judges are not fit to decide; those that are fit are left out."""
    present = _present(comparison)
    summary = JudgingSummary.of(comparison.scorecard.fingerprint)
    if summary is None:
        return dict.fromkeys(present, "nothing is known of how judging went")
    earlier = earlier_judging(comparison)
    problems = {name: why_unfit(JUDGED[name], summary, earlier) for name in present}
    return {name: problem for name, problem in problems.items() if problem}


def _present(comparison: Comparison) -> list[str]:
    """Name the judged metrics of the run."""
    names = {name for parts in comparison.scorecard.slices.values() for name in parts.get(OVERALL, {})}
    return sorted(names & set(JUDGED))


def earlier_judging(comparison: Comparison) -> JudgingSummary | None:
    """Return how judging went when the baseline was measured; None where that is not known, or they were others."""
    baseline = comparison.baseline
    if baseline is None or other_judges(comparison.scorecard, baseline):
        return None
    return JudgingSummary.of(baseline.scorecard.fingerprint)


def why_unfit(score: str, summary: JudgingSummary, earlier: JudgingSummary | None) -> str:
    """Return why the judges of a score are not fit to decide; empty where they are.

    Args:
        earlier: how it went when the baseline was measured; None where that is not known, or they were others.
    """
    coverage = summary.scores.get(score)
    if coverage is None:
        return "nothing is known of how it was judged"
    return uncovered(coverage, summary.min_coverage) or agrees_too_little(score, summary, earlier)


def uncovered(coverage: Coverage, least: float) -> str:
    """Say that fewer answers were judged than this share of them; empty where enough were."""
    if coverage.share is None or coverage.share >= least - EPSILON:
        return ""
    return (
        f"only {coverage.judged} of {coverage.expected} answers were judged ({coverage.gaps}), and at least "
        f"{percent(least)} must be"
    )


def agrees_too_little(score: str, summary: JudgingSummary, earlier: JudgingSummary | None) -> str:
    """Return why the canary set does not show that the judges of a score agree with people; empty where it does."""
    agreement = on_canary(score, summary)
    if summary.canary is None or agreement is None:
        return "no canary set shows whether its judges agree with people"
    past = earlier.canary if earlier is not None else None
    known = earlier if past is not None and past.hash == summary.canary.hash else None
    return _disagreement(agreement, summary.canary.floor, on_canary(score, known))


def on_canary(score: str, summary: JudgingSummary | None) -> CanaryAgreement | None:
    """Return how the judges of a score agree with people on the canary set; None where nothing is known of that."""
    if summary is None or summary.canary is None:
        return None
    return summary.canary.scores.get(_CANARY_OF.get(score, score))


def _disagreement(now: CanaryAgreement, floor: float, before: CanaryAgreement | None) -> str:
    if too_few(now):
        least = max(LEAST_CANARY, (now.cases + 1) // 2)
        return f"only {now.judged} of {counted(now.cases, 'canary case')} were judged, and at least {least} must be"
    if 0 < now.answers < LEAST_CANARY:
        alike = f"its {now.judged} canary cases hold {counted(now.answers, 'different answer')}"
        return f"{alike}, and at least {LEAST_CANARY} are needed"
    if now.kappa is None:
        return "its judges gave every canary case the same grade as people did, so nothing distinguishes them"
    interval = "" if now.low is None or now.high is None else f" [{written(now.low)}, {written(now.high)}]"
    kappa = f"kappa {written(now.kappa, beside=floor)}{interval} with people on {now.judged} canary cases"
    if now.kappa < floor - EPSILON:
        return f"{kappa}, below the floor {setting(floor)}"
    was = before.kappa if before is not None else None
    if was is not None and now.high is not None and now.high < was - EPSILON:
        return f"{kappa}, {written(was)} when the baseline was measured"
    return ""


def too_few(agreement: CanaryAgreement) -> bool:
    """Return whether too few cases of the canary set were judged to tell anything."""
    return agreement.judged < LEAST_CANARY or 2 * agreement.judged < agreement.cases


def advisory(rows: Sequence[GatedMetric], problems: Mapping[str, str]) -> tuple[GatedMetric, ...]:
    """Take the gate from the rows of metrics whose judges are not fit."""
    return tuple(
        replace(row, status="advisory", gated=False, unproven="", by_others=False)
        if row.delta.metric in problems and (row.gated or row.status in {"vanished", "no baseline"})
        else row
        for row in rows
    )


def warnings(comparison: Comparison, rows: Sequence[GatedMetric]) -> Iterator[Reason]:
    """Yield which judged metrics are advisory and why, and whether judges changed, are unstable or were not asked."""
    baseline = comparison.baseline
    if baseline is None or comparison.incomparable:
        return
    for metric, problem in unfit(comparison).items():
        worse = [
            f"{row.delta.mode} {figures.both(metric, row.delta.baseline.value, row.delta.current.value)}"
            for row in rows
            if row.delta.metric == metric and row.delta.slice == OVERALL and row.status == "advisory" and _fell(row)
        ]
        got_worse = f"; it got worse: {', '.join(worse)}" if worse else ""
        yield Reason("judge-unfit", f"{metric} is advisory: {problem}{got_worse}", metric=metric)
    if (baseline.paired or baseline.other_grades) and other_judges(comparison.scorecard, baseline):
        yield Reason("other-judges", f"{not_compared(comparison.scorecard, baseline)}, until a run is promoted")
    yield from _quality(JudgingSummary.of(comparison.scorecard.fingerprint))


def _quality(summary: JudgingSummary | None) -> Iterator[Reason]:
    """Say that judges disagree with a second opinion, and that the canary set was not asked anew."""
    check = summary.spot_check if summary is not None else None
    if check is not None and (check.disagreement_rate or 0.0) > MOST_DISAGREEMENT + EPSILON:
        message = (
            f"judges disagree on {percent(check.disagreement_rate or 0.0)} of {counted(check.spot_check_n, 'answer')} "
            f"judged once more ({check.who}); above {percent(MOST_DISAGREEMENT)} they are unstable"
        )
        yield Reason("judges-unstable", message)
    if summary is not None and summary.canary is not None and summary.canary.replayed:
        message = "the canary set was answered by the cassette, which says nothing of the judges of today"
        yield Reason("canary-replayed", message)


def _fell(row: GatedMetric) -> bool:
    before, now = row.delta.baseline, row.delta.current
    if before.value is None or now.value is None:
        return False
    return improvement(now.direction, before.value, now.value) < -EPSILON
