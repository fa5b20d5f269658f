"""A regression and what the base build answers today: what stays red, what nothing can be told of, and never a pass."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import assume, given, strategies as st
from msgspec.structs import replace

from builders import make_baseline, make_case, make_case_score, make_labelled, make_run, make_scorecard
from raggate.config.gate_settings import Gate, Rule
from raggate.gate import compare, recheck
from raggate.gate.verdict import decide
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.judging_quality import Canary, CanaryAgreement, Coverage, JudgingSummary
from raggate.models.recheck import Recheck, RecheckOutcome
from raggate.models.scorecard import CaseScore, Scorecard
from raggate.models.verdict import Verdict
from raggate.scoring.repeats import KEY, Repeated
from tables import each_row

HIT = Gate(tolerance=0.05, metrics={"hit_at_5": 0.05})
NAMES = tuple(f"q{number}" for number in range(10))
RUN = make_run(*(make_labelled(make_case(name)) for name in NAMES))
COUNTED = "that count against the change"


def scores(values: Mapping[str, float], **fields: object) -> tuple[CaseScore, ...]:
    """Return ten questions a hit each, but for those whose value is given."""
    known = {name: float(values.get(name, 1)) for name in NAMES}
    return tuple(
        make_case_score(name, {"hit_at_5": value}, rank=1 if value else None, **fields) for name, value in known.items()
    )


def base(values: Mapping[str, float], **fields: object) -> tuple[CaseScore, ...]:
    """Return the base's scores of some questions."""
    return tuple(score for score in scores(values, **fields) if score.case_id in values)


STORED = make_baseline(make_scorecard(*scores({})))


def again(scorecard: Scorecard, against: Baseline, policy: Gate) -> Verdict:
    """Decide by other numbers."""
    return decide(compare.compare(RUN, scorecard, against, flip_at=5), (), policy)


def compared_now(lost: Mapping[str, float]) -> tuple[Comparison, Verdict]:
    """Compare ten questions that were all hits, and decide."""
    comparison = compare.compare(RUN, make_scorecard(*scores(lost)), STORED, flip_at=5)
    return comparison, decide(comparison, (), HIT)


def judge(
    now: tuple[CaseScore, ...],
    answers: tuple[CaseScore, ...],
    *,
    gate: Gate = HIT,
    before: tuple[CaseScore, ...] | None = None,
    problem: str = "",
) -> tuple[Verdict, Verdict]:
    """Decide on ten questions that were all hits, then once more with what the base answered; give both verdicts."""
    stored = make_baseline(make_scorecard(*before)) if before else STORED
    comparison = compare.compare(RUN, make_scorecard(*now), stored, flip_at=5)
    first = decide(comparison, (), gate)
    asked = tuple(sorted(recheck.against(first)))
    told = Recheck(asked=asked, build="commit 0123", base=() if problem else (answers,), problem=problem)
    return first, recheck.held_against_base(first, told, comparison, gate, again)


def codes(verdict: Verdict) -> list[str]:
    """Name the reasons."""
    return [reason.code for reason in verdict.reasons]


def test_what_the_base_still_answers_is_lost() -> None:
    """Three of ten questions lost, all of them answered by the base: red as before, with the numbers behind it."""
    lost = {"q0": 0, "q1": 0, "q2": 0}
    first, judged = judge(scores(lost), base(dict.fromkeys(lost, 1)))
    assert first.outcome == judged.outcome == "regression"
    assert judged.reasons[:-1] == first.reasons
    assert judged.reasons[-1].message == (
        f"the base build (commit 0123), asked in the same job, fails none of the 3 questions {COUNTED}"
    )
    assert judged.recheck == RecheckOutcome(build="commit 0123", asked=3)


FIT = JudgingSummary(
    min_coverage=0.9,
    scores={"groundedness": Coverage(expected=10, judged=10)},
    canary=Canary(
        hash="h",
        floor=0.4,
        scores={"groundedness": CanaryAgreement(cases=24, judged=24, kappa=0.8, low=0.7, high=0.9)},
    ),
)
GRADED = {"judges": {"models": [{"model": "m"}], "scores": ["groundedness"]}, "judging": FIT.stored()}
"""The fingerprint of a run that judges graded who agree with people."""


def graded(hits: Mapping[str, float], grade: float) -> Scorecard:
    """Return ten questions with their hits and the same grade each."""
    cases = (replace(case, values={**case.values, "groundedness": grade}) for case in scores(hits))
    return make_scorecard(*cases, fingerprint=GRADED)


def test_the_base_fails_a_question_in_every_metric_that_is_red() -> None:
    """A question that the base build misses too, and ranks far better all the same, is not failed by it too."""

    def ranked(hit: float, reciprocal: float) -> tuple[CaseScore, ...]:
        values = {"hit_at_5": hit, "mrr_at_10": reciprocal}
        return tuple(replace(score, values=values) for score in scores({}))

    gate = Gate(tolerance=0.05, metrics={"hit_at_5": 0.05, "mrr_at_10": 0.05})
    for reciprocal, failing in ((0.15, 0), (0.1, 10)):
        _, judged = judge(ranked(0.0, 0.1), ranked(0.0, reciprocal), gate=gate, before=ranked(1.0, 1.0))
        assert judged.recheck is not None
        assert judged.recheck.failing == failing


def test_a_loss_by_grades_stands_and_is_told() -> None:
    """What judges graded worse is neither failed nor answered by the base, whose answers nobody grades."""
    comparison = compare.compare(RUN, graded({"q0": 0}, 2.0), make_baseline(graded({}, 4.5)), flip_at=5)
    first = decide(comparison, (), HIT)
    assert first.outcome == "regression"
    # what can be asked again is told of first
    assert first.fell["hybrid", "q0"] == ("hit_at_5",)
    assert recheck.graded(first) == recheck.against(first) - {("hybrid", "q0")}
    told = Recheck(asked=tuple(sorted(recheck.against(first))), build="commit 0123", base=(scores({"q0": 0}),))
    judged = recheck.held_against_base(first, told, comparison, HIT, again)
    assert judged.outcome == "regression"
    assert judged.reasons[-1].message == (
        "the base build (commit 0123), asked in the same job, fails the 1 question that counts against the "
        "change; 9 more questions count by grades of judges alone, and as what is asked again is not graded, their "
        "loss stands"
    )
    assert judged.recheck == RecheckOutcome(build="commit 0123", asked=1, failing=1)
    # nor does the hit that the base fails too take the grade of the same question along
    baseline = comparison.baseline
    assert baseline is not None
    every = frozenset(("hybrid", name) for name in NAMES)
    assert recheck.red_without(every, comparison.scorecard, baseline, first, recheck.directions(comparison), HIT, again)


@pytest.mark.parametrize(
    ("keys", "words"),
    [([("a", "q1"), ("b", "q2")], ""), ([("a", "q1"), ("b", "q1")], " (counted in each mode)")],
)
def test_a_question_of_two_modes_is_said_to_be_counted_in_each(keys: list[recheck.Key], words: str) -> None:
    """Where a question counts once for each of several modes, the number says so."""
    assert recheck.each_mode(keys) == words


def test_what_the_base_fails_too_is_not_blamed_on_the_change() -> None:
    """All three fail on the base today: nothing can be told, why stands first, and the metrics after it."""
    lost = {"q0": 0, "q1": 0, "q2": 0}
    first, judged = judge(scores(lost), base(lost))
    assert judged.outcome == "cannot tell"
    assert judged.exit_code == 3
    assert codes(judged) == ["base-fails-too", *codes(first)]
    assert judged.headline == (
        "No verdict is possible: the base build (commit 0123), asked in the same job, fails all 3 questions that "
        "count against the change: the baseline is stale or the environment changed."
    )


def test_noise_can_be_why_the_base_fails_too() -> None:
    """Of an API that is known to be noisy it is not said that baseline or environment must be why."""
    lost = {"q0": 0, "q1": 0, "q2": 0}
    fingerprint = {KEY: Repeated(asked=10, failed=0, differ=1).stored()}
    noisy = make_baseline(make_scorecard(*scores({}), fingerprint=fingerprint))
    comparison = compare.compare(RUN, make_scorecard(*scores(lost)), noisy, flip_at=5)
    first = decide(comparison, (), HIT)
    asked = tuple(sorted(recheck.against(first)))
    judged = recheck.held_against_base(first, Recheck(asked=asked, base=(base(lost),)), comparison, HIT, again)
    assert judged.headline.endswith("the baseline is stale or the environment changed, or it is the API's noise.")


@each_row(("shared", "outcome"), [(0, "regression"), (1, "regression"), (2, "cannot tell")])
def test_what_is_left_decides(shared: int, outcome: str) -> None:
    """Three of ten questions are lost at a tolerance of 0.15: of a loss of 0.3, 0.2 is left with one shared, red.

    With two shared, 0.1 is left, which is not red by itself.
    """
    lost = {"q0": 0.0, "q1": 0.0, "q2": 0.0}
    answers = base({name: float(number >= shared) for number, name in enumerate(lost)})
    first, judged = judge(scores(lost), answers, gate=Gate(metrics={"hit_at_5": 0.15}))
    assert judged.outcome == outcome
    assert judged.recheck is not None
    assert judged.recheck.failing == shared
    assert ("and what is left would not be red" in judged.reasons[0].message) == (shared == 2)
    if outcome == "regression":
        # the headline does not blame the change for all that broke
        assert "3 questions broke." in first.sentences
        too = ("Of the questions that count against the change 1 fails on the base build too.",) if shared else ()
        assert judged.sentences == (*first.sentences, *too)


def test_a_must_pass_question_that_the_base_misses_too() -> None:
    """A must-pass question is red whatever the means; missed by the base today, it is no fault of the change."""
    now, missed = scores({"q0": 0}, must_pass=True), base({"q0": 0}, must_pass=True)
    gate = Gate(metrics={"hit_at_5": 0.5})
    first, judged = judge(now, missed, gate=gate)
    assert codes(first) == ["must-pass"]
    assert judged.outcome == "cannot tell"
    _, judged = judge(now, base({"q0": 1}, must_pass=True), gate=gate)
    assert judged.outcome == "regression"


@each_row(("answer", "outcome"), [(0, "cannot tell"), (1, "regression")])
def test_a_floor_that_the_base_is_below_too(answer: int, outcome: str) -> None:
    """A floor of 0.9 that the change is below at 0.8: no fault of the change where the base is at 0.8 today as well."""
    lost = {"q0": 0, "q1": 0}
    gate = Gate(metrics={"hit_at_5": Rule(tolerance=0.5, floor=0.9)})
    first, judged = judge(scores(lost), base(dict.fromkeys(lost, answer)), gate=gate)
    assert codes(first) == ["below-floor"]
    assert judged.outcome == outcome


def test_a_question_that_the_base_fails_worse_is_no_gain() -> None:
    """A graded loss from 1 to 0.6 on three questions that the base has at 0 today makes up for no other loss.

    Held to 0 they would be three gains of 0.6, and the mean of ten would fall by 0.02 for the two questions that the
    change alone has lost; it falls by 0.2.
    """
    now = {"q0": 0.6, "q1": 0.6, "q2": 0.6, "q3": 0.0, "q4": 0.0}
    answers = base({"q0": 0, "q1": 0, "q2": 0, "q3": 1, "q4": 1})
    _, judged = judge(scores(now), answers, gate=Gate(metrics={"hit_at_5": 0.1}))
    assert judged.outcome == "regression"


def test_a_call_that_failed_on_the_base_alone_tells_nothing() -> None:
    """Only where the change's own call failed as well is a failed call of the base the same failure."""
    lost = {"q0": 0, "q1": 0, "q2": 0}
    failed = base(lost, failure="timeout")
    _, judged = judge(scores(lost), failed)
    assert judged.outcome == "regression"
    assert judged.reasons[-1].message.endswith("count against the change (3 of them got no answer there)")
    now = tuple(replace(score, failure="timeout") if score.case_id in lost else score for score in scores(lost))
    assert judge(now, failed)[1].outcome == "cannot tell"


def test_what_the_base_fails_it_fails_every_time() -> None:
    """Asked several times, the base must fail a question each time for it to be no fault of the change."""
    lost = {"q0": 0, "q1": 0, "q2": 0}
    rounds = (base(lost), base({"q0": 1, "q1": 1, "q2": 1}))
    comparison, first = compared_now(lost)
    told = Recheck(asked=tuple(sorted(recheck.against(first))), build="commit 0123", base=rounds)
    assert recheck.held_against_base(first, told, comparison, HIT, again).outcome == "regression"
    told = replace(told, base=(base(lost), base(lost)))
    assert recheck.held_against_base(first, told, comparison, HIT, again).outcome == "cannot tell"


def test_answers_to_other_questions_have_no_say() -> None:
    """Scores of questions that were not asked for, or are labelled otherwise, are left out."""
    lost = {"q0": 0, "q1": 0, "q2": 0}
    others = base({"q5": 0, "q6": 0, "q7": 0})
    relabelled = tuple(replace(score, hash="other") for score in base(lost))
    assert judge(scores(lost), (*others, *relabelled))[1].outcome == "regression"


def test_added_questions_are_held_to_the_base() -> None:
    """Questions that the baseline does not know are lost by their stand-ins; where the base fails them too, not."""
    before = scores({})[:5]
    now = scores(dict.fromkeys(NAMES[5:], 0))
    gate = Gate(metrics={"hit_at_5": 0.05}, min_overlap=0.1)
    first, judged = judge(now, base(dict.fromkeys(NAMES[5:], 0)), before=before, gate=gate)
    assert first.outcome == "regression"
    assert judged.outcome == "cannot tell"


def test_a_base_that_was_not_asked_excuses_nothing() -> None:
    """Why the base could not be asked is told, and the verdict stays."""
    first, judged = judge(scores({"q0": 0, "q1": 0}), (), problem="the API exited with code 3 before it was ready")
    assert judged.outcome == "regression"
    assert judged.reasons[:-1] == first.reasons
    assert judged.reasons[-1].code == "not-rechecked"
    assert judged.recheck == RecheckOutcome(asked=2, problem="the API exited with code 3 before it was ready")


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=10, max_size=10),
    st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=10, max_size=10),
    st.booleans(),
)
def test_no_answer_of_the_base_makes_a_pass(now: list[float], answers: list[float | None], must: bool) -> None:
    """Whatever the base answers, a regression stays one or becomes *cannot tell*, with all of its reasons."""
    current = scores(dict(zip(NAMES, now, strict=True)), must_pass=must)
    told = base({name: value for name, value in zip(NAMES, answers, strict=True) if value is not None}, must_pass=must)
    first, judged = judge(current, told)
    assume(first.outcome == "regression")
    assert judged.outcome in {"regression", "cannot tell"}
    assert set(first.reasons) < set(judged.reasons)
