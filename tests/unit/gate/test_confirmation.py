"""Flips of a noisy API asked again: what is confirmed, what is dismissed, and what an attack on it does not get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given, strategies as st

from builders import make_baseline, make_case, make_case_score, make_labelled, make_run, make_scorecard
from raggate.config.schema import Gate
from raggate.gate import compare, confirmation, recheck
from raggate.gate.verdict import decide
from raggate.models.baseline import Baseline
from raggate.models.recheck import Recheck
from raggate.models.scorecard import CaseScore, Scorecard
from raggate.models.verdict import Verdict
from raggate.scoring.repeats import KEY, Repeated

HIT = Gate(tolerance=0.05, metrics={"hit_at_5": 0.05})
NAMES = tuple(f"q{number}" for number in range(10))
RUN = make_run(*(make_labelled(make_case(name)) for name in NAMES))
NOISY = {KEY: Repeated(asked=10, failed=0, differ=3).stored()}
QUIET = {KEY: Repeated(asked=10, failed=0, differ=0).stored()}
LOST = {"q0": 0.0, "q1": 0.0}
WON = {"q0": 1.0, "q1": 1.0}


def scores(values: Mapping[str, float], **fields: object) -> tuple[CaseScore, ...]:
    """Give ten questions a hit each, but for those whose value is given."""
    known = {name: float(values.get(name, 1)) for name in NAMES}
    return tuple(
        make_case_score(name, {"hit_at_5": value}, rank=1 if value else None, **fields) for name, value in known.items()
    )


def again(scorecard: Scorecard, against: Baseline, policy: Gate) -> Verdict:
    """Decide by other numbers."""
    return decide(compare.compare(RUN, scorecard, against, flip_at=5), (), policy)


def judge(
    now: tuple[CaseScore, ...],
    rounds: Sequence[tuple[CaseScore, ...]],
    *,
    base: Sequence[tuple[CaseScore, ...]] = (),
    before: Mapping[str, float] | None = None,
    then: Mapping[str, object] = NOISY,
    noise: Mapping[str, object] = NOISY,
    gate: Gate = HIT,
) -> tuple[Verdict, Verdict]:
    """Decide on ten questions, then once more with what asking again gave; `then` is the baseline's own noise."""
    stored = make_baseline(make_scorecard(*scores(before or {}), fingerprint=then))
    comparison = compare.compare(RUN, make_scorecard(*now, fingerprint=noise), stored, flip_at=5)
    first = decide(comparison, (), gate)
    told = Recheck(
        asked=tuple(sorted(recheck.against(first))),
        gained=tuple(sorted(confirmation.gained(first, comparison))),
        base=tuple(base),
        again=tuple(rounds),
    )
    return first, confirmation.judged(first, told, comparison, gate, again)


def test_a_loss_that_does_not_repeat_is_dismissed_loudly() -> None:
    """Two of ten lost, and answered as before both times they were asked again: a pass that tells all of it."""
    first, judged = judge(scores(LOST), (scores(WON), scores(WON)))
    assert first.outcome == "regression"
    assert judged.outcome == "pass"
    assert judged.sentences[0] == "Worse than allowed when first asked, and not confirmed."
    assert judged.sentences[1] == (
        "This API is known to be noisy, so what flipped was asked again 2 times in a process of its own, on the "
        "change's build alone, as no base build was asked: 0 of 2 questions that count against the change did not come "
        "back as good as before each time."
    )
    told = [reason.message for reason in judged.warnings if reason.code == "not-confirmed"]
    assert told[1:] == [f"not confirmed: {reason.message}" for reason in first.reasons]
    assert judged.recheck is not None
    assert (judged.recheck.asked, judged.recheck.times, judged.recheck.lost_again) == (2, 2, 0)


def test_a_loss_that_repeats_is_confirmed() -> None:
    """What is lost each time again is red, with the numbers."""
    first, judged = judge(scores(LOST), (scores(LOST), scores(LOST)))
    assert judged.outcome == "regression"
    assert judged.reasons[:-1] == first.reasons
    assert judged.reasons[-1].code == "confirmed"
    assert judged.recheck is not None
    assert judged.recheck.lost_again == 2


@pytest.mark.parametrize("order", [(LOST, WON), (WON, LOST)])
def test_answering_well_only_once_gains_nothing(order: tuple[dict[str, float], ...]) -> None:
    """Attack: an API that answers well the first or the second time it is asked again has lost all the same."""
    _, judged = judge(scores(LOST), [scores(values) for values in order])
    assert judged.outcome == "regression"


def test_a_call_that_fails_when_asked_again_is_lost() -> None:
    """Attack: an answer that does not come is none as good as before."""
    failed = tuple(replace(score, failure="timeout") for score in scores(LOST))
    assert judge(scores(LOST), (scores(WON), failed))[1].outcome == "regression"


def test_an_answer_that_is_missing_is_lost() -> None:
    """Attack: a question without a score of each time stays as it was measured."""
    assert judge(scores(LOST), (scores(WON), ()))[1].outcome == "regression"


@pytest.mark.parametrize("then", [QUIET, {}])
def test_noise_that_only_this_run_shows_makes_no_pass(then: dict[str, object]) -> None:
    """Attack: a change that makes its API noisy is no pass, as the baseline's own run knows of no noise."""
    _, judged = judge(scores(LOST), (scores(WON), scores(WON)), then=then)
    assert judged.outcome == "cannot tell"
    assert judged.reasons[0].code == "not-confirmed"
    assert confirmation.UNKNOWN in judged.headline


def test_more_flips_than_the_known_noise_explains_make_no_pass() -> None:
    """Attack: a change that makes its API noisier than it was, so that eight of ten flip, is no pass.

    One of a hundred came out otherwise in the baseline's run; by Wilson's interval that is at most 5.45 %, of ten
    questions not one.
    """
    lost = dict.fromkeys(NAMES[:8], 0.0)
    then = {KEY: Repeated(asked=100, failed=0, differ=1).stored()}
    _, judged = judge(scores(lost), (scores({}), scores({})), then=then)
    assert judged.outcome == "cannot tell"
    assert "(1 of 100) explains at most 0" in judged.headline


def test_a_must_pass_question_must_pass_each_time() -> None:
    """A must-pass question that is missed in one of the times it is asked again stays red."""
    gate = Gate(metrics={"hit_at_5": 0.5})
    now, well = scores({"q0": 0}, must_pass=True), scores({}, must_pass=True)
    assert judge(now, (well, now), gate=gate)[1].outcome == "regression"
    assert judge(now, (well, well), gate=gate)[1].outcome == "pass"


def test_a_gain_that_does_not_repeat_covers_no_loss() -> None:
    """Three lost, one gained, three answered as before when asked again but one: the gain must repeat to count.

    At a tolerance of 0.05, one loss of ten left is red; with the gain it would be even.
    """
    now = scores({"q0": 0, "q1": 0, "q2": 0})
    before = {"q9": 0.0}
    left = {"q0": 0.0, "q9": 0.0}
    assert judge(now, (scores(left), scores(left)), before=before)[1].outcome == "regression"
    repeated = {"q0": 0.0}
    assert judge(now, (scores(repeated), scores(repeated)), before=before)[1].outcome == "pass"


def test_the_base_answers_for_what_comes_and_goes() -> None:
    """A question that both builds answer once of twice is half a loss, and not a whole one.

    Of three lost, one comes back. The others are 0.2 by the stored hits, and 0.1 by the base's mean of a half each.
    """
    gate = Gate(metrics={"hit_at_5": 0.15})
    now, rounds = scores({**LOST, "q2": 0}), (scores(LOST), scores(WON))
    assert judge(now, rounds, gate=gate)[1].outcome == "regression"
    _, judged = judge(now, rounds, base=(scores(WON), scores(LOST)), gate=gate)
    assert judged.outcome == "pass"
    assert "on both builds: 2 of 3 questions" in judged.headline


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=10, max_size=10),
    st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=10, max_size=10), max_size=2),
    st.integers(1, 3),
)
def test_what_is_always_answered_alike_stays_lost(now: list[float], base: list[list[float]], times: int) -> None:
    """Whatever the base answers, a loss whose answers are the same each time is a regression as before."""
    measured = scores(dict(zip(NAMES, now, strict=True)))
    sides = [scores(dict(zip(NAMES, values, strict=True))) for values in base]
    first, judged = judge(measured, (measured,) * times, base=sides)
    assume(first.outcome == "regression")
    assert judged.outcome == "regression"


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=10, max_size=10),
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=10, max_size=10), min_size=1, max_size=3),
)
def test_no_answers_make_a_pass_without_known_noise(now: list[float], rounds: list[list[float]]) -> None:
    """Whatever an API answers when asked again, without noise in the baseline's own run there is no pass."""
    asked = [scores(dict(zip(NAMES, values, strict=True))) for values in rounds]
    first, judged = judge(scores(dict(zip(NAMES, now, strict=True))), asked, then=QUIET)
    assume(first.outcome == "regression")
    assert judged.outcome in {"regression", "cannot tell"}
