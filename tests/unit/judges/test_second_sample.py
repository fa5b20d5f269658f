"""Grades that moved since the baseline, given once more: which, what they come to, and how many."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from builders import make_case, make_chunk, make_failure, make_labelled, make_response, make_result
from judging import ScriptedAsker, as_written, canary_line, grounded, make_canary, make_judge
from raggate.judges.canary import CanarySet
from raggate.judges.judging import JudgedRun, Plan, judge_run
from raggate.judges.replies import CorrectnessReply, GroundednessReply
from raggate.judges.second_sample import Earlier, moved, near_floors
from raggate.models.judging import Judgement, JudgeRequest, NotJudged, Parameters
from raggate.models.judging_quality import SecondSamples
from raggate.models.run import LabelledResult
from tables import each_row


class Asking:
    """The ways to ask, scripted; every request is a call from the one numbered `calls_from` on."""

    def __init__(self, first: ScriptedAsker, fresh: ScriptedAsker | None = None, calls_from: int = 1) -> None:
        self.first = first
        self.fresh = fresh or first
        self.calls_from = calls_from

    def called(self) -> bool:
        """Say whether a call was made."""
        return len(self.first.requests) >= self.calls_from


def answer(name: str, repeat: int = 1) -> LabelledResult:
    """Build an answer with a passage, of which the question is named."""
    result = make_result(name, response=make_response(make_chunk(), answer="So [1]."), repeat=repeat)
    return make_labelled(make_case(name), result)


def before(**grades: float) -> Earlier:
    """Build what a baseline keeps of groundedness, by question."""
    return {("hybrid", name, make_case(name).hash): {"groundedness": value} for name, value in grades.items()}


def dice(**points: tuple[int | NotJudged, ...]) -> ScriptedAsker:
    """Script a judge that gives each question its points by the seed: 1, then 2."""

    def reply(request: JudgeRequest) -> GroundednessReply | NotJudged:
        named = re.search(r"Question (\w+)\?", request.prompt.messages[1].text)
        assert named
        drawn = points[named[1]][request.parameters.seed - 1]
        return drawn if isinstance(drawn, NotJudged) else grounded(drawn, unsupported_claims=["b"] if drawn < 5 else [])

    return ScriptedAsker(groundedness=reply)


def judged(asking: Asking, *names: str, earlier: Earlier | None, **fields: Any) -> JudgedRun:
    """Judge an answer to each question, held against a baseline."""
    known: dict[str, Any] = {"models": (make_judge(),), "scores": ("groundedness",)}
    plan = Plan(parameters=Parameters(max_tokens=100), **{**known, **fields})
    return asyncio.run(judge_run([answer(name) for name in names], plan, asking, earlier=earlier))


def values(run: JudgedRun) -> list[float | None]:
    """Give the first grade of each answer."""
    return [given[0].value for given in run.judgements]


def test_what_moved_is_graded_again_both_ways() -> None:
    """A grade that fell and one that rose are the means of two, and one that stayed is asked for once."""
    ask = dice(a=(2, 4), b=(4, 4), c=(4, 2))
    run = judged(Asking(ask), "a", "b", "c", earlier=before(a=4, b=4, c=3))
    assert values(run) == [3.0, 4.0, 3.0]
    assert run.summary.second_samples == SecondSamples(moved=2, graded=2, differed=2)
    assert [request.parameters.seed for request in ask.requests] == [1, 1, 1, 2, 2]


def test_both_samples_stand_beside_their_mean() -> None:
    """What is stored of a grade given twice is either sample, their requests, and what both took."""
    (given,), (other,) = judged(Asking(dice(a=(2, 4), b=(4, 4))), "a", "b", earlier=before(a=4, b=4)).judgements
    assert [sample.value for sample in given.samples] == [2.0, 4.0]
    assert len(set(given.keys)) == 2
    assert given.keys == tuple(key for sample in given.samples for key in sample.keys)
    assert (given.usage.replies, given.usage.input_tokens) == (2, 20)
    assert (given.unsupported, given.judge) == (("b",), "small")
    assert (other.samples, other.usage.replies) == ((), 1)


@each_row(
    ("floor", "wanted"),
    [
        # the mean of 2 and 4 is 3, and a twentieth of the scale a quarter of a point
        (3.25, 2),
        (2.75, 2),
        (3.0, 2),
        (3.3, 0),
        (2.7, 0),
    ],
)
def test_a_mean_near_its_floor_is_graded_again(floor: float, wanted: int) -> None:
    """Above the floor and below it alike every grade of the mean is given twice, with a baseline or without one."""
    for earlier in (None, before(a=2, b=4)):
        run = judged(Asking(dice(a=(2, 1), b=(4, 4))), "a", "b", earlier=earlier, floors={"groundedness": floor})
        assert values(run) == ([1.5, 4.0] if wanted else [2.0, 4.0])
        samples = SecondSamples(moved=0, graded=wanted, differed=wanted // 2, near=wanted)
        assert run.summary.second_samples == (samples if wanted or earlier is not None else None)


def test_what_moved_and_is_near_a_floor_is_given_twice_and_not_thrice() -> None:
    """A grade with two reasons to be given again counts once, as one that moved."""
    ask = dice(a=(2, 2), b=(4, 4))
    run = judged(Asking(ask), "a", "b", earlier=before(a=4, b=4), floors={"groundedness": 3.0})
    assert run.summary.second_samples == SecondSamples(moved=1, graded=2, differed=0, near=1)
    assert len(ask.requests) == 4


def test_a_floor_is_near_in_the_mode_that_is_near_it() -> None:
    """Modes have means of their own; what the API did not answer counts 0 in them, as in the metric."""
    graded = (Judgement(score="groundedness", value=4.0),)
    other = make_labelled(make_case("b"), make_result("b", mode="vector", response=make_response(make_chunk())))
    failed = make_labelled(make_case("c"), make_result("c", mode="vector", failure=make_failure()))
    given = (graded, graded, (Judgement(score="groundedness", value=None, reason="nothing_to_judge"),))
    items = [answer("a"), other, failed]
    assert near_floors(items, given, {"groundedness": 4.0}) == [("groundedness",), (), ()]
    assert near_floors(items, given, {"groundedness": 2.0}) == [(), ("groundedness",), ()]
    assert near_floors(items, given, {}) == [(), (), ()]


def test_a_fall_that_repeats_stays_whole() -> None:
    """Where the second grade is the first, that is the grade."""
    run = judged(Asking(dice(a=(2, 2))), "a", earlier=before(a=4))
    assert values(run) == [2.0]
    assert run.summary.second_samples == SecondSamples(moved=1, graded=1, differed=0)


@each_row("earlier", [None, {}, before(other=1), {("hybrid", "a", "another hash"): {"groundedness": 1}}])
def test_what_the_baseline_does_not_have_is_graded_once(earlier: Earlier | None) -> None:
    """Without a baseline by these judges, and for a question that it does not hold, nothing is asked twice."""
    ask = dice(a=(2, 4))
    run = judged(Asking(ask), "a", earlier=earlier)
    assert (values(run), len(ask.requests)) == ([2.0], 1)
    assert run.summary.second_samples == (None if earlier is None else SecondSamples(moved=0, graded=0, differed=0))


@each_row("reason", ["budget", "timeout", "refused", "replay_miss", "invalid_reply"])
def test_without_a_second_grade_the_first_stands(reason: Any) -> None:
    """An error of the second sample is no score and takes none away; it is counted, and the answer counts as judged."""
    run = judged(Asking(dice(a=(2, NotJudged(reason=reason)))), "a", earlier=before(a=4))
    assert values(run) == [2.0]
    assert run.summary.second_samples == SecondSamples(moved=1, graded=0, differed=0)
    ((given,),) = run.judgements
    assert [(sample.value, sample.reason) for sample in given.samples] == [(2.0, None), (None, reason)]
    assert (run.summary.scores["groundedness"].judged, run.summary.scores["groundedness"].reasons) == (1, {})


def test_what_was_not_judged_first_is_not_asked_again() -> None:
    """A grade that is missing has not moved: nobody draws again until there is one."""
    ask = dice(a=(NotJudged(reason="refused"), 5))
    run = judged(Asking(ask), "a", earlier=before(a=4))
    assert (values(run), len(ask.requests)) == ([None], 1)


def test_only_the_score_that_moved_is_graded_again() -> None:
    """Correctness that is as it was costs no second call where groundedness fell."""
    points = dice(a=(2, 2)).replies["groundedness"]
    correct = CorrectnessReply(reasoning="Right.", missing_facts=[], score=5)
    ask = ScriptedAsker(groundedness=points, correctness=correct)
    earlier = {key: {**grades, "correctness": 5.0} for key, grades in before(a=4).items()}
    judged(Asking(ask), "a", earlier=earlier, scores=("groundedness", "correctness"))
    assert sorted(request.prompt.name for request in ask.requests) == ["correctness", "groundedness", "groundedness"]


def test_a_panel_grades_again_as_a_panel() -> None:
    """Every judge of a panel is asked again, and the mean is that of what they came to together."""
    models = tuple(make_judge(name) for name in ("x", "y", "z"))
    ask = dice(a=(2, 3))
    run = judged(Asking(ask), "a", earlier=before(a=4), models=models)
    assert (values(run), len(ask.requests)) == ([2.5], 6)
    ((given,),) = run.judgements
    assert [len(sample.votes) for sample in given.samples] == [3, 3]


def graded(value: float | None) -> tuple[Judgement, ...]:
    """Build what was said of an answer."""
    return (Judgement(score="groundedness", value=value, reason=None if value is not None else "timeout"),)


@each_row(
    ("now", "earlier", "again"),
    [
        ((4, 2, 3), 3.0, (False, False, False)),
        ((4, 2, 4), 3.0, (True, True, True)),
        ((4, None, 4), 3.0, (True, False, True)),
        ((5, 4, 4), 4.333333, (False, False, False)),
    ],
)
def test_of_a_question_asked_several_times_the_mean_moves(
    now: tuple[float | None, ...], earlier: float, again: tuple[bool, ...]
) -> None:
    """The baseline keeps a mean of six decimals: as long as that stays, single answers are not graded again."""
    items = [answer("a", repeat=number) for number in range(1, 4)]
    found = moved(items, tuple(map(graded, now)), before(a=earlier))
    assert [bool(scores) for scores in found] == list(again)


def canary() -> CanarySet:
    """Build a set of two cases that people graded."""
    return CanarySet(cases=make_canary(canary_line(1, 4), canary_line(2, 1)).cases, hash="h", floor=0.6)


@each_row(("calls_from", "asked_anew"), [(1, 2), (4, 2), (99, 0)])
def test_a_second_sample_that_calls_has_the_canary_asked_anew(calls_from: int, asked_anew: int) -> None:
    """Whichever call is the first of a run, its canary set is asked of the server of today; without one it is replayed.

    The answer takes one request, the canary set two, and the second sample the fourth.
    """

    def reply(request: JudgeRequest) -> GroundednessReply | NotJudged:
        points: Mapping[bool, Any] = {True: dice(a=(2, 4)), False: as_written()}
        asked = points["Question a?" in request.prompt.messages[1].text].replies["groundedness"]
        said: GroundednessReply | NotJudged = asked(request)
        return said

    fresh = as_written()
    run = judged(
        Asking(ScriptedAsker(groundedness=reply), fresh, calls_from), "a", earlier=before(a=4), canary=canary()
    )
    assert run.summary.canary is not None
    assert run.summary.canary.replayed is (asked_anew == 0)
    assert len(fresh.requests) == asked_anew
    assert values(run) == [3.0]
