"""What a verdict is told of the latency of base build and change, and when the change is too slow."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from raggate.gate.latency import LEAST_QUESTIONS, slower, with_latency
from raggate.models.recheck import LatencyCheck
from raggate.models.verdict import Reason, Verdict, VerdictKind
from tables import each_row

BASE = (100.0,) * 20
RED = Reason("worse", "hit_at_5 fell")


def check(*base: tuple[float, ...], change: tuple[float, ...], problem: str = "") -> LatencyCheck:
    """Give what was timed; 1.5 times as long is allowed."""
    return LatencyCheck(allowed=1.5, build="commit 0123", base=base, change=change, problem=problem)


def verdict(outcome: VerdictKind = "pass") -> Verdict:
    """Give a verdict without the latency."""
    return Verdict(outcome=outcome, sentences=("As it was.",), reasons=(RED,) if outcome == "regression" else ())


@each_row(
    ("change", "late"),
    [
        pytest.param((160.0,) * 20, True, id="all questions"),
        # of 20, 16 or more beyond the median have a chance of 0.0059, 15 or more one of 0.0207
        pytest.param((160.0,) * 16 + (100.0,) * 4, True, id="16 of 20"),
        pytest.param((160.0,) * 15 + (100.0,) * 5, False, id="15 of 20"),
        pytest.param((150.0,) * 20, False, id="as long as is allowed"),
        pytest.param((100.0,) * 19 + (60_000.0,), False, id="one very slow answer"),
    ],
)
def test_most_questions_take_longer(change: tuple[float, ...], late: bool) -> None:
    """The change is slower where more questions than chance makes take longer than allowed, whatever the mean."""
    assert slower(BASE, change, 1.5) == late


def test_two_thirds_of_fifty_may_be_late() -> None:
    """Of as many as are asked at the most, 33 that take for ever are not red, and 34 are, as the pages say."""
    base = (100.0,) * 50
    assert [slower(base, (60_000.0,) * late + base[late:], 1.5) for late in (33, 34)] == [False, True]


def test_a_few_milliseconds_are_no_loss() -> None:
    """Three times as long as a millisecond is what a busy machine makes."""
    assert not slower((1.0,) * 50, (3.0,) * 50, 1.5)
    assert slower((1.0,) * 50, (6.1,) * 50, 1.5)


@given(st.integers(1, LEAST_QUESTIONS - 1))
def test_few_questions_never_gate(count: int) -> None:
    """However slow it is, fewer than twenty questions tell nothing."""
    assert not slower((1.0,) * count, (9000.0,) * count, 1.5)


def test_a_pass_becomes_a_regression() -> None:
    """A change that is too slow each time the base was asked is red, with both sides' figures."""
    judgement = with_latency(verdict(), check(BASE, (90.0,) * 20, change=(190.0,) * 20))
    assert judgement.outcome == "regression"
    assert judgement.sentences == ("Slower than allowed.",)
    assert [reason.message for reason in judgement.reasons] == [
        "slower than allowed: 20 answers took p50 190 ms, p95 190 ms on the change and p50 90 ms, p95 90 ms on the "
        "base build (commit 0123), a median ratio of 2.11 where 1.5 is allowed"
    ]


def test_answers_that_are_remembered() -> None:
    """A change that is fast only once it was asked is as slow as when it was first asked."""
    slow = LatencyCheck(allowed=1.5, base=(BASE,), change=BASE, base_first=(BASE,), change_first=(160.0,) * 20)
    judgement = with_latency(verdict(), slow)
    assert judgement.outcome == "regression"
    assert "20 answers when first asked took p50 160 ms" in judgement.reasons[0].message


def test_a_slow_second_of_the_machine_is_none() -> None:
    """Where the base takes as long when it is asked once more, the change is not slower, and both are told."""
    judgement = with_latency(verdict(), check(BASE, (180.0,) * 20, change=(190.0,) * 20))
    assert judgement.outcome == "pass"
    assert judgement.latency_note.startswith("Latency, both builds asked alike on this machine: 20 answers took")


def test_a_median_beyond_the_limit_that_is_not_red_says_why() -> None:
    """A pass that shows more than is allowed would contradict itself; one that shows less has nothing to explain."""
    above = with_latency(verdict(), check(BASE, change=(160.0,) * 15 + (100.0,) * 5))
    assert above.outcome == "pass"
    assert "a median ratio of 1.60 where 1.5 is allowed. That is more than allowed and not red" in above.latency_note
    assert with_latency(verdict(), check(BASE, change=BASE)).latency_note.endswith("where 1.5 is allowed.")


def test_a_regression_stays_one() -> None:
    """What is red already keeps its sentences and reasons, whatever the latency is."""
    slow = with_latency(verdict("regression"), check(BASE, BASE, change=(190.0,) * 20))
    assert [reason.code for reason in slow.reasons] == ["worse", "slower"]
    assert slow.sentences == ("As it was.", "Slower than allowed.")
    unknown = with_latency(verdict("regression"), check(change=(), problem="the API died"))
    assert (unknown.outcome, [reason.code for reason in unknown.reasons]) == (
        "regression",
        ["worse", "latency-not-compared"],
    )


@each_row(
    ("timed", "cause"),
    [
        (
            check(change=(), problem="the API died"),
            "the latency could not be compared with the base build's: the API died",
        ),
        (check(BASE[:19], change=BASE[:19]), "only 19 questions were answered every time, and 20 are needed"),
    ],
)
def test_what_could_not_be_compared_is_no_pass(timed: LatencyCheck, cause: str) -> None:
    """Where a limit is set and cannot be checked, the verdict is that nothing can be told."""
    judgement = with_latency(verdict(), timed)
    assert judgement.outcome == "cannot tell"
    assert cause in judgement.headline


@each_row("outcome", ["cannot tell", "invariant broken", "interrupted"])
def test_other_verdicts_are_not_about_latency(outcome: VerdictKind) -> None:
    """Where nothing was decided, or an invariant is broken, latency has no say."""
    assert with_latency(verdict(outcome), check(BASE, change=(900.0,) * 20)) == verdict(outcome)
