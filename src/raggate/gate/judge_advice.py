"""Which judges are fit to decide. Pure.

A judge is fit for a score where nearly all answers were judged, and where it agrees with people on a canary set: no
less than a floor, and not clearly less than when the baseline was measured. Else what it scored is advisory: it is
shown and decides nothing, and the verdict says so in its first lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from raggate.base.numbers import counted, percent, setting, written
from raggate.config.gate_settings import Gate
from raggate.config.judge_settings import CANARY_FLOOR, MIN_COVERAGE
from raggate.gate.evidence import compared_pairs
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.judging import JUDGES, NOT_ASKED, CanaryAgreement, Coverage, JudgingSummary
from raggate.models.provenance import modes_of
from raggate.models.scorecard import EPSILON, OVERALL, Scorecard
from raggate.models.verdict import GatedMetric, Reason
from raggate.scoring import figures
from raggate.scoring.metrics import METRICS

V = TypeVar("V")

LEAST_CANARY = 20
"""Cases of a canary set that must have been judged: fewer tell too little of a judge."""

MOST_DISAGREEMENT = 0.2
"""The rate of a spot check above which judges are called unstable."""

# faithfulness is counted from the reply that groundedness is taken from
_CANARY_OF = {"faithfulness": "groundedness"}


JUDGED = {name: metric.judged for name, metric in METRICS.items() if metric.judged}
"""The score that judges give, by the metric that is of it."""


def unfit(comparison: Comparison) -> dict[str, str]:
    """Return by judged metric of the run why its judges are not fit to decide; those that are fit are left out."""
    names = {name for parts in comparison.scorecard.slices.values() for name in parts.get(OVERALL, {})}
    present = sorted(names & JUDGED.keys())
    summary = JudgingSummary.of(comparison.scorecard.fingerprint)
    if summary is None:
        return dict.fromkeys(present, "the run does not record how judging went")
    earlier = earlier_judging(comparison)
    problems = {name: why_unfit(JUDGED[name], summary, earlier) for name in present}
    return {name: problem for name, problem in problems.items() if problem}


def earlier_judging(comparison: Comparison) -> JudgingSummary | None:
    """Return how judging went when the baseline was measured; None where that is not known, or they were others."""
    baseline = comparison.baseline
    if baseline is None or other_judges(comparison.scorecard, baseline):
        return None
    return JudgingSummary.of(baseline.scorecard.fingerprint)


def why_unfit(score: str, summary: JudgingSummary, earlier: JudgingSummary | None) -> str:
    """Return why the judges of a score are not fit to decide; empty where they are."""
    coverage = summary.scores.get(score)
    if coverage is None:
        return "the run does not record how it was judged"
    return uncovered(coverage) or agrees_too_little(score, summary, earlier)


def uncovered(coverage: Coverage) -> str:
    """Return that too few of the answers were judged; empty where enough were."""
    if coverage.share is None or coverage.share >= MIN_COVERAGE - EPSILON:
        return ""
    of = f"{coverage.judged} of {coverage.expected} answers"
    return f"only {of} were judged ({coverage.gaps}); it takes at least {percent(MIN_COVERAGE)}"


def agrees_too_little(score: str, summary: JudgingSummary, earlier: JudgingSummary | None) -> str:
    """Return why the canary set does not show that the judges of a score agree with people; empty where it does."""
    agreement = on_canary(score, summary)
    if summary.canary is None or agreement is None:
        return "without a canary set nobody knows whether its judges agree with people"
    past = earlier.canary if earlier is not None else None
    known = earlier if past is not None and past.hash == summary.canary.hash else None
    return _disagreement(agreement, on_canary(score, known))


def on_canary(score: str, summary: JudgingSummary | None) -> CanaryAgreement | None:
    """Return how the judges of a score agree with people on the canary set; None where nothing is known of that."""
    if summary is None or summary.canary is None:
        return None
    return summary.canary.scores.get(_CANARY_OF.get(score, score))


def _disagreement(now: CanaryAgreement, before: CanaryAgreement | None) -> str:
    if too_few(now):
        least = max(LEAST_CANARY, (now.cases + 1) // 2)
        return f"only {now.judged} of {counted(now.cases, 'canary case')} were judged; it takes at least {least}"
    if 0 < now.answers < LEAST_CANARY:
        alike = f"its {now.judged} canary cases hold {counted(now.answers, 'different answer')}"
        return f"{alike}, and at least {LEAST_CANARY} are needed"
    if now.kappa is None:
        return "people and judges gave every canary answer the same grade, so kappa is not defined"
    interval = "" if now.low is None or now.high is None else f" [{written(now.low)}, {written(now.high)}]"
    kappa = f"kappa {written(now.kappa, beside=CANARY_FLOOR)}{interval} with people on {now.judged} canary cases"
    if now.kappa < CANARY_FLOOR - EPSILON:
        return f"{kappa}, below the floor {setting(CANARY_FLOOR)}"
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
            if row.delta.metric == metric and row.delta.slice == OVERALL and row.status == "advisory"
            if row.delta.gain < -EPSILON
        ]
        got_worse = f"; it got worse: {', '.join(worse)}" if worse else ""
        yield Reason("judge-unfit", f"{figures.title(metric)} decides nothing: {problem}{got_worse}", metric=metric)
    if baseline.paired or baseline.other_grades:
        yield from judged_by_others(comparison, promoting=False)
    yield from _quality(JudgingSummary.of(comparison.scorecard.fingerprint))


def _quality(summary: JudgingSummary | None) -> Iterator[Reason]:
    check = summary.spot_check if summary is not None else None
    if check is not None and (rate := check.disagreement_rate or 0.0) > MOST_DISAGREEMENT + EPSILON:
        of = f"{percent(rate)} of {counted(check.spot_check_n, 'answer')} judged once more ({check.who})"
        message = f"judges disagree on {of}; above {percent(MOST_DISAGREEMENT)} they are unstable"
        yield Reason("judge-quality", message)
    if summary is not None and summary.canary is not None and summary.canary.replayed:
        yield Reason("judge-quality", "the cassette answered the canary set, so today's judges were not tested")


def ungraded(values: Mapping[str, V]) -> dict[str, V]:
    """Return the values of metrics that are not of grades."""
    return {name: value for name, value in values.items() if name not in JUDGED}


def by_these_judges(scorecard: Scorecard, baseline: Baseline | None) -> Baseline | None:
    """Return a baseline, without its judged metrics where those of the run are by other judges or prompts."""
    if baseline is None or not other_judges(scorecard, baseline):
        return baseline
    card = baseline.scorecard
    slices = {mode: {name: ungraded(means) for name, means in parts.items()} for mode, parts in card.slices.items()}
    cases = tuple(replace(case, values=ungraded(case.values)) for case in card.cases)
    return replace(baseline, scorecard=replace(card, slices=slices, cases=cases), other_grades=_has_grades(card))


def floors(gate: Gate) -> dict[str, float]:
    """Return what the mean of a judged metric must not fall below, whatever the baseline, by gated metric."""
    return {name: rule.floor for name, rule in gate.rules().items() if name in JUDGED and rule.floor is not None}


def other_judges(scorecard: Scorecard, baseline: Baseline) -> bool:
    """Return whether two sides were not judged by the same; where nobody knows by whom, that is not known to be so."""
    now, before = scorecard.fingerprint.get(JUDGES), baseline.scorecard.fingerprint.get(JUDGES)
    return now != before or (now is None and (_has_grades(scorecard) or _had_grades(baseline)))


def judged_by_others(comparison: Comparison, *, promoting: bool) -> Iterator[Reason]:
    """Yield why nothing is compared with the baseline's grades: a worse answer may hide behind that.

    A promotion loses nothing if the baseline was never judged.
    """
    scorecard, baseline = comparison.scorecard, comparison.baseline
    if baseline is None or not other_judges(scorecard, baseline):
        return
    if promoting and not (_had_grades(baseline) or JUDGES in baseline.scorecard.fingerprint):
        return
    why = "the judges or prompts may be different"
    if not _has_grades(scorecard) and JUDGES not in scorecard.fingerprint:
        why = "the run was not judged"
    elif not _had_grades(baseline) and JUDGES not in baseline.scorecard.fingerprint:
        why = "the baseline was not judged"
    yield Reason("other-judges", f"judged metrics are not compared with the baseline: {why}")


def _has_grades(scorecard: Scorecard) -> bool:
    means = [parts.get(OVERALL, {}) for parts in scorecard.slices.values()]
    return any(name in JUDGED and mean.value is not None for values in means for name, mean in values.items())


def _had_grades(baseline: Baseline) -> bool:
    return baseline.other_grades or _has_grades(baseline.scorecard)


def reasons(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Yield what fit judges graded when the baseline was measured and do not grade any more.

    Whatever the reason is, an answer can be behind it: one too long for a judge's window, time or budget, one without a
    claim. An answer that keeps its judge from grading it is not better off than one that is graded badly. Only where no
    call was allowed, or there was no key, nothing is said: no answer can bring that about.
    """
    summary, earlier = JudgingSummary.of(comparison.scorecard.fingerprint), earlier_judging(comparison)
    if summary is None or comparison.baseline is None or comparison.incomparable:
        return
    for name in sorted(floors(gate) if earlier is None else JUDGED):
        kept = _kept_from_grading(comparison, gate, name, summary, earlier)
        if kept:
            yield Reason("kept-from-judging", f"{name}: {kept}", metric=name)


def _kept_from_grading(
    comparison: Comparison, gate: Gate, name: str, summary: JudgingSummary, earlier: JudgingSummary | None
) -> str:
    """Return what fit judges do not grade any more of a metric; of one with a floor whoever judged the baseline."""
    score = JUDGED[name]
    now = summary.scores.get(score)
    if now is None or (earlier is not None and why_unfit(score, earlier, None)):
        return ""
    disagreement = agrees_too_little(score, summary, earlier)
    if earlier is None:
        return uncovered(now) if not disagreement and _kept_ungraded(now) else ""
    if disagreement and not _canary_starved(score, summary, earlier):
        return ""
    excused = _not_asked(now)
    place, graded, lost = _grades(comparison, name, gate)
    if lost - excused > (1 - MIN_COVERAGE) * graded + EPSILON:
        gaps = f"; not judged in this run: {now.gaps}" if now.gaps else ""
        verb = "has" if lost == 1 else "have"
        return f"{lost} of {counted(graded, 'answer')} graded in the baseline's run{place} {verb} no grade now{gaps}"
    if graded and _kept_ungraded(now):
        # the baseline has no grade for a question that was asked again, or that was refused then
        return uncovered(now)
    if graded and not excused and disagreement:
        return f"canary answers were left without a grade, so the judges are not tested: {disagreement}"
    return ""


def _kept_ungraded(coverage: Coverage) -> bool:
    """Return whether too few answers have a grade for reasons that an answer can bring about."""
    missing = coverage.expected - coverage.judged - _not_asked(coverage)
    return missing > (1 - MIN_COVERAGE) * coverage.expected + EPSILON


def _not_asked(coverage: Coverage) -> int:
    return sum(coverage.reasons.get(reason, 0) for reason in NOT_ASKED)


def _grades(comparison: Comparison, metric: str, gate: Gate) -> tuple[str, int, int]:
    """Count the questions that have a grade in the baseline, and those of them that have none now.

    Of all modes, and slices that can fail, it is the one that has lost the greatest share: each has a mean of its own.
    Where that is comes first, in words; empty where it is everywhere.
    """
    graded, lost = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for before, now in compared_pairs(comparison):
        if before.values.get(metric) is not None:
            parts = [(now.mode, name) for name in {OVERALL, *(now.slices if gate.slices == "fail" else ())}]
            graded.update(parts)
            lost.update(parts if now.values.get(metric) is None else ())
    means = [(mode, name) for (mode, name), n in graded.items() if name == OVERALL or n >= gate.min_cases]
    if not means:
        return "", 0, 0
    worst = max(sorted(means), key=lambda part: (lost[part] / graded[part], graded[part]))
    several = len(modes_of(comparison.scorecard.fingerprint)) > 1 or comparison.scorecard.several_modes
    places = [f"mode {worst[0]}"] * several + [f"slice {worst[1]}"] * (worst[1] != OVERALL)
    return f", in {', '.join(places)}," if places else "", graded[worst], lost[worst]


def _canary_starved(score: str, summary: JudgingSummary, earlier: JudgingSummary) -> bool:
    """Return whether so many canary cases were left out that nobody knows what the judges are worth."""
    now, before = on_canary(score, summary), on_canary(score, earlier)
    if summary.canary is None or earlier.canary is None or now is None or before is None:
        return False
    if summary.canary.hash != earlier.canary.hash:
        return too_few(now) and now.cases >= LEAST_CANARY
    # the cases that are left may be the hard ones, or those of a single grade
    return too_few(now) or now.judged < before.judged
