"""Judges decide only where they are fit to."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_case_score, make_scorecard
from judged_cards import AGREEMENT, QUESTIONS, card, codes, summary, verdict
from raggate.models.judging_quality import JUDGES, JUDGING, Canary, JudgingSummary, SpotCheck
from tables import each_row


def test_fit_judges_decide() -> None:
    """A point lost in groundedness, by judges that agree with people, is red by default; half a point is allowed."""
    lost = verdict(card(4.5), card(3.5))
    assert lost.outcome == "regression"
    assert any("groundedness" in reason.message for reason in lost.reasons)
    assert codes(lost) == []
    assert verdict(card(4.5), card(4.0)).outcome == "pass"
    assert verdict(card(4.5), card(3.9)).outcome == "regression"


@each_row(
    ("how", "why"),
    [
        (
            summary(agreement=replace(AGREEMENT, kappa=0.05, low=-0.2, high=0.3)),
            "kappa 0.0500 [-0.2000, 0.3000] with people on 24 canary cases, below the floor 0.4",
        ),
        (summary(agreement=replace(AGREEMENT, answers=2)), "its 24 canary cases hold 2 different answers"),
        (summary(agreement=None), "no canary set shows whether its judges agree with people"),
        (summary(canary=None), "no canary set shows whether its judges agree with people"),
        (
            summary(judged=10, agreement=replace(AGREEMENT, judged=19), missing="no_key"),
            "only 10 of 12 answers were judged (2 no_key)",
        ),
        (summary(agreement=replace(AGREEMENT, kappa=None, low=None, high=None)), "the same grade as people did"),
        (summary(judged=10), "only 10 of 12 answers were judged (2 replay_miss), and at least 90% must be"),
        (summary(scores={}), "nothing is known of how it was judged"),
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
    assert "Judges have no say in groundedness: groundedness is advisory" in decided.headline
    assert {row.status for row in decided.rows if row.delta.metric == "groundedness"} == {"advisory"}


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
    assert "Judges have no say in context_relevancy and correctness: context_relevancy is advisory" in decided.headline


def test_half_of_a_canary_set_has_to_be_judged() -> None:
    """Of 60 cases 25 are more than the 20 that any set takes, and not the 30 that this one does."""
    decided = verdict(card(4.5), card(1.0, summary(agreement=replace(AGREEMENT, cases=60, judged=25))))
    assert "only 25 of 60 canary cases were judged, and at least 30 must be" in decided.headline


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
    other = replace(worse, canary=replace(worse.canary or Canary(hash="", floor=0, scores={}), hash="other"))
    assert verdict(card(4.5), card(1.0, other)).outcome == "regression"


def test_what_was_judged_and_vanished_is_no_red() -> None:
    """Where nothing could be judged, as in replay with an empty cassette, the rest decides and the report says so."""
    nothing = summary(judged=0, agreement=replace(AGREEMENT, judged=0, kappa=None, low=None, high=None))
    decided = verdict(card(4.5), card(None, nothing))
    assert decided.outcome == "pass"
    assert codes(decided) == ["judge-unfit"]


def test_unfit_judges_do_not_hide_what_else_got_worse() -> None:
    """A loss that no judge has a say in is red, whatever the judges are worth."""
    worse = card(1.0, summary(agreement=None))
    missed = tuple(replace(case, values={**case.values, "hit_at_5": 0.0}, rank=None) for case in worse.cases)
    decided = verdict(card(4.5), make_scorecard(*missed, fingerprint=worse.fingerprint))
    assert decided.outcome == "regression"
    assert "Judges have no say" in decided.headline


def test_a_floor_of_unfit_judges_advises_too() -> None:
    """A limit holds whatever the baseline says, but not by judges that are not fit."""
    gate = {"metrics": {"groundedness": {"floor": 4}}}
    assert verdict(card(3.0), card(3.0), **gate).outcome == "regression"
    assert verdict(card(3.0), card(3.0, summary(agreement=None)), **gate).outcome == "pass"


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
    assert (decided.outcome, codes(decided)) == ("pass", ["judges-unstable", "canary-replayed"])
    alone = summary(spot_check=replace(spot, disagreement_rate=1.0, spot_check_n=1))
    (told,) = [item.message for item in verdict(card(4.5), card(4.5, alone)).warnings if item.code == "judges-unstable"]
    assert told == "judges disagree on 100% of 1 answer judged once more (second); above 20% they are unstable"
    calm = summary(spot_check=replace(spot, disagreement_rate=0.2))
    assert codes(verdict(card(4.5), card(4.5, calm))) == []
