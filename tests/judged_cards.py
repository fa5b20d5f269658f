"""Scorecards of runs that judges graded, with how judging went, and the verdict on two of them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_baseline, make_case, make_case_score, make_labelled, make_run, make_scorecard
from raggate.config.gate_settings import Gate
from raggate.gate.compare import compare
from raggate.gate.verdict import decide
from raggate.models.judging import JUDGES, JUDGING, Canary, CanaryAgreement, Coverage, JudgingSummary
from raggate.models.scorecard import Scorecard
from raggate.models.verdict import Verdict

QUESTIONS = 12
AGREEMENT = CanaryAgreement(cases=24, judged=24, kappa=0.8, low=0.7, high=0.9)


def summary(
    *,
    judged: int = QUESTIONS,
    missing: str = "replay_miss",
    agreement: CanaryAgreement | None = AGREEMENT,
    **fields: Any,
) -> JudgingSummary:
    """Build how judging went: all judged, and in agreement with people, unless told otherwise."""
    scores = {} if agreement is None else {"groundedness": agreement}
    reasons = {missing: QUESTIONS - judged} if judged < QUESTIONS else {}
    known: dict[str, Any] = {
        "scores": {
            name: Coverage(expected=QUESTIONS, judged=judged, reasons=reasons)
            for name in ("groundedness", "faithfulness", "correctness")
        },
        "canary": Canary(hash="h", scores=scores),
    }
    return JudgingSummary(**{**known, **fields})


def card(
    value: float | None,
    how: JudgingSummary | None = None,
    *,
    metric: str = "groundedness",
    by: str = "small",
    without: int = 0,
) -> Scorecard:
    """Build a scored run of twelve hits, each with this judged value but for so many at the beginning."""
    values = [None] * without + [value] * (QUESTIONS - without)
    cases = [make_case_score(f"q{number}", {"hit_at_5": 1.0, metric: each}) for number, each in enumerate(values)]
    fingerprint = {JUDGES: {"models": [{"model": by}], "scores": [metric]}, JUDGING: (how or summary()).stored()}
    return make_scorecard(*cases, fingerprint=fingerprint)


def verdict(before: Scorecard, now: Scorecard, **gate: Any) -> Verdict:
    """Decide on a run against a baseline."""
    run = make_run(*(make_labelled(make_case(case.case_id)) for case in now.cases))
    held = compare(run, now, make_baseline(before))
    return decide(replace(held, not_asked=()), (), Gate(**gate))


def codes(decided: Verdict) -> list[str]:
    """Return the codes of the warnings about judges."""
    return [reason.code for reason in decided.warnings if "judge" in reason.code or "canary" in reason.code]
