"""Judges decide only where they are fit to."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_baseline, make_case, make_case_score, make_labelled, make_run, make_scorecard
from judged_cards import AGREEMENT, QUESTIONS, card, codes, summary, verdict
from raggate.base.errors import UsageError
from raggate.config.gate_settings import Gate
from raggate.gate import promote
from raggate.gate.compare import compare
from raggate.gate.judge_advice import why_unfit
from raggate.gate.verdict import decide
from raggate.models.judging import JUDGES, JUDGING, Canary, CanaryAgreement, Coverage, JudgingSummary, SpotCheck
from raggate.models.scorecard import OVERALL, Scorecard
from tables import each_row


def test_fit_judges_decide() -> None:
    """A point lost in groundedness, by judges that agree with people, is red by default; half a point is allowed."""
    lost = verdict(card(4.5), card(3.5))
    assert lost.outcome == "regression"
    assert any("groundedness" in reason.message for reason in lost.reasons)
    assert codes(lost) == []
    assert verdict(card(4.5), card(4.0)).outcome == "pass"
    assert verdict(card(4.5), card(3.9)).outcome == "regression"
    just_fit = summary(judged=11, agreement=replace(AGREEMENT, cases=48, kappa=0.4, low=0.2, high=0.8))
    assert verdict(card(4.5, just_fit), card(3.5, just_fit)).outcome == "regression"


@each_row(
    ("how", "why"),
    [
        (
            summary(agreement=replace(AGREEMENT, kappa=0.05, low=-0.2, high=0.3)),
            "kappa 0.0500 [-0.2000, 0.3000] with people on 24 canary cases, below the floor 0.4",
        ),
        (summary(agreement=replace(AGREEMENT, answers=2)), "its 24 canary cases hold 2 different answers"),
        (summary(agreement=None), "without a canary set nobody knows whether its judges agree with people"),
        (summary(canary=None), "without a canary set nobody knows whether its judges agree with people"),
        (
            summary(judged=10, agreement=replace(AGREEMENT, judged=19), missing="no_key"),
            "only 10 of 12 answers were judged (2 no_key)",
        ),
        (
            summary(agreement=replace(AGREEMENT, kappa=None, low=None, high=None)),
            "gave every canary answer the same grade",
        ),
        (summary(judged=10), "only 10 of 12 answers were judged (2 replay_miss); it takes at least 90%"),
        (summary(scores={}), "the run does not record how it was judged"),
    ],
)
def test_unfit_judges_advise(how: JudgingSummary, why: str) -> None:
    """Whatever is not known of judges, or is bad, takes their say: no red, a warning, and the reason comes first."""
    decided = verdict(card(4.5), card(1.0, how))
    assert decided.outcome == "pass"
    assert codes(decided) == ["judge-unfit"]
    (warning,) = (reason for reason in decided.warnings if reason.code == "judge-unfit")
    assert why in warning.message
    assert warning.message.endswith("it got worse: hybrid 4.500 → 1.000")
    assert "Judges do not decide about groundedness: groundedness decides nothing" in decided.headline
    assert {row.status for row in decided.rows if row.delta.metric == "groundedness"} == {"advisory"}
    better = [reason.message for reason in verdict(card(1.0), card(4.5, how)).warnings if reason.code == "judge-unfit"]
    assert [message for message in better if "got worse" in message] == []


def test_less_than_half_of_a_canary_set_shows_nothing() -> None:
    """Judges are fit only if at least half of the canary cases were judged."""
    few = why_unfit("groundedness", summary(agreement=replace(AGREEMENT, cases=49)), None)
    assert few == "only 24 of 49 canary cases were judged; it takes at least 25"


def test_a_headline_takes_the_say_from_no_judges_but_the_unfit() -> None:
    """Where judges are fit for groundedness and not for two other scores, the headline names those, as they decide it.

    Of scores that have no canary case each has its own warning; the headline has the reason of the first.
    """
    sides = []
    for value in (4.5, 1.0):
        values = {"hit_at_5": 1.0, "groundedness": value, "correctness": value, "context_relevancy": value / 5}
        cases = [make_case_score(f"q{number}", values) for number in range(QUESTIONS)]
        fingerprint = {JUDGES: {"models": [{"model": "small"}]}, JUDGING: summary().stored()}
        sides.append(make_scorecard(*cases, fingerprint=fingerprint))
    decided = verdict(*sides)
    assert decided.outcome == "regression"
    assert (
        "Judges do not decide about context relevancy and correctness: context relevancy decides nothing"
        in decided.headline
    )


def test_judges_that_agree_less_than_before_advise() -> None:
    """A kappa whose whole interval is below that of the baseline's own canary takes the judges their say."""
    worse = summary(agreement=replace(AGREEMENT, kappa=0.6, low=0.5, high=0.7))
    decided = verdict(card(4.5), card(1.0, worse))
    assert decided.outcome == "pass"
    assert "0.8000 when the baseline was measured" in decided.headline
    # an interval that holds the earlier kappa is no evidence that judges got worse
    as_good = summary(agreement=replace(AGREEMENT, kappa=0.75, low=0.6, high=0.85))
    assert verdict(card(4.5), card(1.0, as_good)).outcome == "regression"
    # another canary set tells nothing of the earlier one
    other = replace(worse, canary=replace(worse.canary or Canary(hash="", scores={}), hash="other"))
    assert verdict(card(4.5), card(1.0, other)).outcome == "regression"


def test_faithfulness_has_the_canary_of_groundedness() -> None:
    """Faithfulness is counted from the reply that groundedness is taken from; correctness has a canary of its own."""
    gate = {"metrics": {"faithfulness": 0.1}}
    assert verdict(card(0.9, metric="faithfulness"), card(0.5, metric="faithfulness"), **gate).outcome == "regression"
    assert codes(verdict(card(4.5, metric="correctness"), card(1.0, metric="correctness"))) == ["judge-unfit"]


def test_unstable_judges_and_a_replayed_canary_are_told() -> None:
    """More than a fifth of disagreement is a warning, and so is a canary set that nobody was asked about."""
    spot = SpotCheck(disagreement_rate=0.25, spot_check_n=20, by="second")
    canary = summary().canary
    assert canary is not None
    how = summary(spot_check=spot, canary=replace(canary, replayed=True))
    decided = verdict(card(4.5), card(4.5, how))
    assert (decided.outcome, codes(decided)) == ("pass", ["judge-quality", "judge-quality"])
    alone = summary(spot_check=replace(spot, disagreement_rate=1.0, spot_check_n=1))
    (told,) = [item.message for item in verdict(card(4.5), card(4.5, alone)).warnings if item.code == "judge-quality"]
    assert told == "judges disagree on 100% of 1 answer judged once more (second); above 20% they are unstable"
    calm = summary(spot_check=replace(spot, disagreement_rate=0.2))
    assert codes(verdict(card(4.5), card(4.5, calm))) == []


def test_promoting_what_others_judged_needs_permission() -> None:
    """Grades that nothing was compared with are not replaced in passing, by those of other judges or by none."""
    small = make_baseline(card(4.5))
    nobody = replace(small, scorecard=replace(small.scorecard, fingerprint={}))
    means = replace(nobody, scorecard=replace(nobody.scorecard, cases=()))
    unjudged, unnamed = replace(card(None), fingerprint={}), replace(card(1.0), fingerprint={})
    others = "the judges or prompts may be different"
    for before, now, why in (
        (small, card(1.0, by="large"), others),
        (small, unjudged, "the run was not judged"),
        (small, unnamed, others),
        (nobody, card(1.0), others),
        (nobody, unnamed, others),
        (means, card(1.0), others),
    ):
        run = make_run(*(make_labelled(make_case(case.case_id)) for case in now.cases))
        held = compare(run, now, before)
        (reason,) = [item for item in promote.needs_permission(run, held, Gate()) if item.code == "other-judges"]
        decided = decide(replace(held, not_asked=()), (), Gate())
        assert [item.code for item in decided.warnings if item.message.endswith(why)] == ["other-judges"]
        assert not any(row.gated for row in decided.rows if row.delta.metric == "groundedness")
        assert reason.message.endswith(why)
        with pytest.raises(UsageError, match="worse than the present baseline: ") as caught:
            promote.propose(run, now, before, Gate(), promote.Terms())
        assert "--allow-regression" in (caught.value.hint or "")
        promote.propose(run, now, before, Gate(), promote.Terms(allow_regression=True, reason="a better judge"))


def test_scores_of_other_judges_are_not_compared() -> None:
    """Another model or prompt is another measure: its scores wait for a baseline, and all else is compared."""
    decided = verdict(card(4.5), card(1.0, by="other"))
    assert decided.outcome == "pass"
    assert codes(decided) == ["other-judges"]
    assert {row.status for row in decided.rows if row.delta.metric == "groundedness"} == {"no baseline"}
    assert any(row.delta.metric == "hit_at_5" and row.gated for row in decided.rows)


def unread(reason: str, count: int, **fields: Any) -> Scorecard:
    """Build a run of which so many answers have no grade; one without a claim is not among those to be judged."""
    known = {} if reason == "nothing_to_judge" else {"judged": QUESTIONS - count, "missing": reason}
    return card(4.5, summary(**{**known, **fields}), without=count)


@each_row("reason", ["refused", "unusable_score", "timeout", "budget", "nothing_to_judge"])
def test_answers_that_keep_judges_from_grading_them_are_not_green(reason: str) -> None:
    """What fit judges graded before and do not now is no pass, whatever the reason; a twelfth of it is allowed."""
    decided = verdict(card(4.5), unread(reason, 2))
    assert decided.outcome == "cannot tell"
    (why,) = (cause.message for cause in decided.reasons if cause.code == "kept-from-judging")
    gaps = "" if reason == "nothing_to_judge" else f"; not judged in this run: 2 {reason}"
    assert why == f"groundedness: 2 of 12 answers graded in the baseline's run have no grade now{gaps}"
    assert verdict(card(4.5), unread(reason, 1)).outcome == "pass"
    run = make_run(*(make_labelled(make_case(f"q{number}")) for number in range(QUESTIONS)))
    held = compare(run, unread(reason, 2), make_baseline(card(4.5)))
    assert "kept-from-judging" in {item.code for item in promote.needs_permission(run, held, Gate())}


def test_answers_of_one_mode_are_not_kept_from_judges_among_those_of_others() -> None:
    """Each mode has a mean of its own, so what may be missing of it is a share of its answers, not of all."""
    before, now = card(4.5), unread("unusable_score", 2)
    others = tuple(replace(case, mode="lexical") for case in before.cases)
    counted = Coverage(expected=2 * QUESTIONS, judged=2 * QUESTIONS - 2, reasons={"unusable_score": 2})
    marks = {**now.fingerprint, JUDGING: summary(scores={"groundedness": counted}).stored()}
    earlier = make_scorecard(*others, *before.cases, fingerprint=before.fingerprint)
    decided = verdict(earlier, make_scorecard(*others, *now.cases, fingerprint=marks))
    assert decided.outcome == "cannot tell"
    assert "2 of 12 answers graded in the baseline's run, in mode hybrid, have no grade now" in decided.headline


def test_answers_of_a_slice_that_can_fail_are_not_kept_from_judges() -> None:
    """With `gate.slices: fail` a slice cannot lose its worst answers among those of all: its mean decides too."""

    def sliced(side: Scorecard) -> Scorecard:
        work = (replace(case, slices=(OVERALL, "work")) for case in side.cases[:4])
        return make_scorecard(*work, *side.cases[4:], fingerprint=side.fingerprint)

    sides = sliced(card(4.5)), sliced(unread("unusable_score", 1))
    decided = verdict(*sides, slices="fail", min_cases=4)
    assert decided.outcome == "cannot tell"
    assert "1 of 4 answers graded in the baseline's run, in slice work, has no grade now" in decided.headline
    assert verdict(*sides, slices="fail", min_cases=5).outcome == "pass"
    assert verdict(*sides, min_cases=4).outcome == "pass"


def test_answers_without_a_grade_before_do_not_disarm_judges() -> None:
    """Answers that cannot be graded, to questions asked again or refused before, do not take the say from judges."""
    decided = verdict(card(4.5), card(1.0, summary(judged=10, missing="unusable_score")))
    assert decided.outcome == "cannot tell"
    (why,) = (cause.message for cause in decided.reasons if cause.code == "kept-from-judging")
    assert why == "groundedness: only 10 of 12 answers were judged (2 unusable_score); it takes at least 90%"
    assert verdict(card(4.5), card(4.5, summary(judged=11, missing="unusable_score"))).outcome == "pass"


def test_answers_that_use_up_what_the_canary_takes_are_not_green() -> None:
    """A canary set that was judged for the baseline and not now, though calls were allowed, tells nothing of today."""
    starved = summary(agreement=replace(AGREEMENT, judged=8))
    decided = verdict(card(4.5), card(1.0, starved))
    assert decided.outcome == "cannot tell"
    assert "canary answers were left without a grade" in decided.headline
    both = summary(judged=10, missing="invalid_reply", agreement=replace(AGREEMENT, judged=8))
    assert verdict(card(4.5), card(1.0, both, without=2)).outcome == "cannot tell"


def canaried(agreement: CanaryAgreement, digest: str = "h") -> JudgingSummary:
    return summary(canary=Canary(hash=digest, scores={"groundedness": agreement}))


@each_row(
    ("now", "edited"),
    [
        (CanaryAgreement(cases=40, judged=20, kappa=None), False),
        (CanaryAgreement(cases=40, judged=20, kappa=0.1, low=-0.3, high=0.5), False),
        (CanaryAgreement(cases=40, judged=20, answers=19, kappa=0.8, low=0.7, high=0.9), False),
        (CanaryAgreement(cases=40, judged=12), True),
    ],
    ids=["the cases of one grade", "the hard cases", "the copies of one case", "of an edited set"],
)
def test_answers_that_leave_the_canary_a_part_are_not_green(now: CanaryAgreement, edited: bool) -> None:
    """Judges are not found unfit by the part of a canary set that long answers left tokens or time for."""
    before, left = canaried(replace(AGREEMENT, cases=40, judged=40)), canaried(now, "edited" if edited else "h")
    decided = verdict(card(4.5, before), card(1.0, left))
    assert decided.outcome == "cannot tell"
    assert "canary answers were left without a grade" in decided.headline


@each_row(
    ("before", "now"),
    [
        (card(4.5), card(1.0, canaried(replace(AGREEMENT, kappa=0.1, low=-0.3, high=0.5)))),
        (card(4.5), card(1.0, canaried(CanaryAgreement(cases=12, judged=12), "edited"))),
        (card(4.5), card(4.5, canaried(replace(AGREEMENT, judged=22)))),
        (unread("invalid_reply", 4), unread("invalid_reply", 4)),
        (card(4.5), unread("invalid_reply", 4, canary=None)),
        (card(4.5), unread("replay_miss", 12)),
        (card(4.5), unread("no_key", 12)),
        (card(4.5), card(4.5, summary(judged=8, missing="refused"), without=4, by="other")),
    ],
    ids=["unfit judges", "a small set", "two gaps", "as before", "no set", "replay", "no key", "other judges"],
)
def test_what_is_no_answers_doing_lets_the_rest_decide(before: Scorecard, now: Scorecard) -> None:
    """Judges that failed before, are unfit, are others, or were not to be asked are no reason for *cannot tell*."""
    assert verdict(before, now).outcome == "pass"


def test_answers_that_cannot_be_graded_do_not_take_a_floor_away() -> None:
    """A floor holds whoever judged the baseline, so what keeps today's fit judges from grading is no pass."""
    gate = {"metrics": {"groundedness": {"floor": 4}}}
    before, below = card(3.0, by="before"), summary(judged=10, missing="unusable_score")
    decided = verdict(before, card(3.0, below, without=2), **gate)
    assert decided.outcome == "cannot tell"
    assert "groundedness: only 10 of 12 answers were judged (2 unusable_score)" in decided.headline
    assert verdict(before, card(3.0, below, without=2)).outcome == "pass"
    for how in (summary(judged=10), replace(below, canary=None)):
        assert verdict(before, card(3.0, how, without=2), **gate).outcome == "pass"
