"""Answers that keep fit judges from grading them are not green."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_baseline, make_case, make_labelled, make_run, make_scorecard
from judged_cards import AGREEMENT, QUESTIONS, card, summary, verdict
from raggate.config.gate_settings import Gate
from raggate.gate import replacements
from raggate.gate.compare import compare
from raggate.models.judging_quality import JUDGING, Canary, CanaryAgreement, Coverage
from raggate.models.scorecard import OVERALL, Scorecard
from tables import each_row


def unread(reason: str, count: int, **fields: Any) -> Scorecard:
    """Build a run of which so many answers have no grade; one without a claim is not among those to be judged."""
    known = {} if reason == "nothing_to_judge" else {"judged": QUESTIONS - count, "missing": reason}
    return card(4.5, summary(**{**known, **fields}), without=count)


@each_row(
    "reason",
    [
        "refused",
        "invalid_reply",
        "unusable_score",
        "disagreement",
        "status",
        "timeout",
        "budget",
        "deadline",
        "nothing_to_judge",
    ],
)
def test_answers_that_keep_judges_from_grading_them_are_not_green(reason: str) -> None:
    """What fit judges graded before and do not now is no pass, whatever the reason; a twelfth of it is allowed."""
    decided = verdict(card(4.5), unread(reason, 2))
    assert decided.outcome == "cannot tell"
    (why,) = (cause.message for cause in decided.reasons if cause.code == "kept-from-judging")
    gaps = "" if reason == "nothing_to_judge" else f"; not judged in this run: 2 {reason}"
    assert why == f"2 of 12 answers that judges gave groundedness in the baseline's run have none now{gaps}"
    assert verdict(card(4.5), unread(reason, 1)).outcome == "pass"


def test_a_few_without_a_grade_do_not_disarm_judges() -> None:
    """A loss in the answers that were judged is no pass because some others were not."""
    assert verdict(card(4.5), card(1.0, summary(judged=10, missing="status"), without=2)).outcome == "cannot tell"


def test_answers_of_one_mode_are_not_kept_from_judges_among_those_of_others() -> None:
    """Each mode has a mean of its own, so what may be missing of it is a share of its answers, not of all."""
    before, now = card(4.5), unread("unusable_score", 2)
    others = tuple(replace(case, mode="lexical") for case in before.cases)
    counted = Coverage(expected=2 * QUESTIONS, judged=2 * QUESTIONS - 2, reasons={"unusable_score": 2})
    marks = {**now.fingerprint, JUDGING: summary(scores={"groundedness": counted}).stored()}
    earlier = make_scorecard(*others, *before.cases, fingerprint=before.fingerprint)
    decided = verdict(earlier, make_scorecard(*others, *now.cases, fingerprint=marks))
    assert decided.outcome == "cannot tell"
    why = "2 of 12 answers that judges gave groundedness in the baseline's run, in mode hybrid, have none now"
    assert why in decided.headline


def test_answers_of_a_slice_that_can_fail_are_not_kept_from_judges() -> None:
    """With `gate.slices: fail` a slice cannot lose its worst answers among those of all: its mean decides too."""

    def sliced(side: Scorecard) -> Scorecard:
        work = (replace(case, slices=(OVERALL, "work")) for case in side.cases[:4])
        return make_scorecard(*work, *side.cases[4:], fingerprint=side.fingerprint)

    sides = sliced(card(4.5)), sliced(unread("unusable_score", 1))
    decided = verdict(*sides, slices="fail", min_slice=4)
    assert decided.outcome == "cannot tell"
    assert (
        "1 of 4 answers that judges gave groundedness in the baseline's run, in slice work, has none"
        in decided.headline
    )
    assert verdict(*sides, slices="fail", min_slice=5).outcome == "pass"
    assert verdict(*sides, min_slice=4).outcome == "pass"


def test_answers_without_a_grade_before_do_not_disarm_judges() -> None:
    """Answers that cannot be graded, to questions asked again or refused before, do not take the say from judges."""
    decided = verdict(card(4.5), card(1.0, summary(judged=10, missing="unusable_score")))
    assert decided.outcome == "cannot tell"
    (why,) = (cause.message for cause in decided.reasons if cause.code == "kept-from-judging")
    assert why == (
        "only 10 of 12 answers were judged (2 unusable_score), and at least 90% must be for groundedness, as they were "
        "in the baseline's run"
    )
    assert verdict(card(4.5), card(4.5, summary(judged=11, missing="unusable_score"))).outcome == "pass"


def test_answers_that_use_up_what_the_canary_takes_are_not_green() -> None:
    """A canary set that was judged for the baseline and not now, though calls were allowed, tells nothing of today."""
    starved = summary(agreement=replace(AGREEMENT, judged=8))
    decided = verdict(card(4.5), card(1.0, starved))
    assert decided.outcome == "cannot tell"
    assert "canary cases were left without a grade" in decided.headline
    both = summary(judged=10, missing="invalid_reply", agreement=replace(AGREEMENT, judged=8))
    assert verdict(card(4.5), card(1.0, both, without=2)).outcome == "cannot tell"


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
    canary = Canary(hash="h", floor=0.4, scores={"groundedness": replace(AGREEMENT, cases=40, judged=40)})
    left = replace(canary, hash="edited" if edited else "h", scores={"groundedness": now})
    decided = verdict(card(4.5, summary(canary=canary)), card(1.0, summary(canary=left)))
    assert decided.outcome == "cannot tell"
    assert "canary cases were left without a grade" in decided.headline


def test_a_canary_set_that_is_worth_less_by_itself_is_no_answers_doing() -> None:
    """Where all cases were judged, or an edited set has too few, judges that are unfit advise."""
    for agreement, digest in (
        (replace(AGREEMENT, kappa=0.1, low=-0.3, high=0.5), "h"),
        (CanaryAgreement(cases=12, judged=12), "edited"),
    ):
        canary = Canary(hash=digest, floor=0.4, scores={"groundedness": agreement})
        assert verdict(card(4.5), card(1.0, summary(canary=canary))).outcome == "pass"
    assert verdict(card(4.5), card(4.5, summary(agreement=replace(AGREEMENT, judged=22)))).outcome == "pass"


def test_promoting_such_answers_needs_permission() -> None:
    """A baseline with fewer grades to hold against is what nobody gets in passing."""
    now = unread("refused", 2)
    run = make_run(*(make_labelled(make_case(case.case_id)) for case in now.cases))
    held = compare(run, now, make_baseline(card(4.5)), flip_at=5)
    (why,) = replacements.needs_permission(run, held, Gate())
    assert why.message.startswith("2 of 12 answers that judges gave groundedness in the baseline's run")


def test_judges_that_never_could_are_no_answers_doing() -> None:
    """Where judges failed as often before, are unfit, were others or were not to be asked, the rest decides."""
    often = unread("invalid_reply", 4)
    assert verdict(often, often).outcome == "pass"
    assert verdict(card(4.5), unread("invalid_reply", 4, canary=None)).outcome == "pass"
    assert verdict(card(4.5), unread("replay_miss", 12)).outcome == "pass"
    assert verdict(card(4.5), unread("no_key", 12)).outcome == "pass"
    other = card(4.5, summary(judged=8, missing="refused"), without=4, by="other")
    assert verdict(card(4.5), other).outcome == "pass"


def test_answers_that_cannot_be_graded_do_not_take_a_floor_away() -> None:
    """A floor holds whoever judged the baseline, so what keeps today's fit judges from grading is no pass."""
    gate = {"metrics": {"groundedness": {"floor": 4}}}
    before, below = card(3.0, by="before"), summary(judged=10, missing="unusable_score")
    decided = verdict(before, card(3.0, below, without=2), **gate)
    assert decided.outcome == "cannot tell"
    assert "2 unusable_score), and at least 90% must be for groundedness, which has a floor" in decided.headline
    assert verdict(before, card(3.0, below, without=2)).outcome == "pass"
    for how in (summary(judged=10), replace(below, canary=None)):
        assert verdict(before, card(3.0, how, without=2), **gate).outcome == "pass"
