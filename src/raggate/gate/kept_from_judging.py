"""Answers that keep fit judges from grading them: no better off than those that are graded badly. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from raggate.config.gate_settings import Gate
from raggate.gate.composite import same_questions
from raggate.gate.judge_fitness import (
    LEAST_CANARY,
    agrees_too_little,
    earlier_judging,
    on_canary,
    too_few,
    uncovered,
    why_unfit,
)
from raggate.gate.judged_metrics import JUDGED, floors
from raggate.models.comparison import Comparison
from raggate.models.fingerprint import modes_of
from raggate.models.judging import NOT_ASKED
from raggate.models.judging_quality import Coverage, JudgingSummary
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.models.verdict import Reason
from raggate.text.numbers import counted


def reasons(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Name what fit judges graded when the baseline was measured and do not grade any more.

    Whatever the reason is, an answer can be behind it: one too long for a judge's window, time or budget, one without a
    claim. An answer that keeps its judge from grading it is not better off than one that is graded badly. Only where no
    call was allowed, or there was no key, nothing is said: no answer can bring that about.
    """
    summary, earlier = JudgingSummary.of(comparison.scorecard.fingerprint), earlier_judging(comparison)
    if summary is None or comparison.baseline is None or comparison.incomparable:
        return
    if earlier is None:
        yield from _kept_from_floors(summary, gate)
        return
    for name, score in sorted(JUDGED.items()):
        now = summary.scores.get(score)
        if now is None or why_unfit(score, earlier, None):
            continue
        disagreement = agrees_too_little(score, summary, earlier)
        if disagreement and not _canary_starved(score, summary, earlier):
            continue
        excused = _not_asked(now)
        place, graded, lost = _grades(comparison, name, gate)
        if lost - excused > (1 - summary.min_coverage) * graded + EPSILON:
            whose = f"{lost} of {counted(graded, 'answer')} that judges gave {name}"
            gaps = f"; not judged in this run: {now.gaps}" if now.gaps else ""
            message = f"{whose} in the baseline's run{place} {'has' if lost == 1 else 'have'} none now{gaps}"
            yield Reason("kept-from-judging", message, metric=name)
        elif graded and _kept_ungraded(now, summary.min_coverage):
            # answers of which the baseline has no grade: to a question asked again, or one that was refused then
            message = f"{uncovered(now, summary.min_coverage)} for {name}, as they were in the baseline's run"
            yield Reason("kept-from-judging", message, metric=name)
        elif graded and not excused and disagreement:
            message = f"nobody knows what {name} is worth, as canary cases were left without a grade: {disagreement}"
            yield Reason("kept-from-judging", message, metric=name)


def _kept_from_floors(summary: JudgingSummary, gate: Gate) -> Iterator[Reason]:
    """Name metrics with a floor, which holds whoever judged the baseline, that fit judges were kept from grading."""
    for name in sorted(floors(gate)):
        now = summary.scores.get(JUDGED[name])
        fit = not agrees_too_little(JUDGED[name], summary, None)
        if now is not None and fit and _kept_ungraded(now, summary.min_coverage):
            message = f"{uncovered(now, summary.min_coverage)} for {name}, which has a floor"
            yield Reason("kept-from-judging", message, metric=name)


def _kept_ungraded(coverage: Coverage, least: float) -> bool:
    """Return whether too few answers have a grade for reasons that an answer can bring about."""
    missing = coverage.expected - coverage.judged - _not_asked(coverage)
    return missing > (1 - least) * coverage.expected + EPSILON


def _not_asked(coverage: Coverage) -> int:
    return sum(coverage.reasons.get(reason, 0) for reason in NOT_ASKED)


def _grades(comparison: Comparison, metric: str, gate: Gate) -> tuple[str, int, int]:
    """Count the questions that have a grade in the baseline, and those of them that have none now.

    Of all modes, and slices that can fail, it is the one that has lost the greatest share: each has a mean of its own.
    Where that is comes first, in words; empty where it is everywhere.
    """
    modes = modes_of(comparison.scorecard.fingerprint) or sorted({case.mode for case in comparison.scorecard.cases})
    graded, lost = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for mode in modes:
        for before, now in same_questions(comparison, mode):
            if before.values.get(metric) is not None:
                parts = [(mode, name) for name in {OVERALL, *(now.slices if gate.slices == "fail" else ())}]
                graded.update(parts)
                lost.update(parts if now.values.get(metric) is None else ())
    means = [(mode, name) for (mode, name), n in graded.items() if name == OVERALL or n >= gate.min_slice]
    if not means:
        return "", 0, 0
    worst = max(sorted(means), key=lambda part: (lost[part] / graded[part], graded[part]))
    places = [f"mode {worst[0]}"] * (len(modes) > 1) + [f"slice {worst[1]}"] * (worst[1] != OVERALL)
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
