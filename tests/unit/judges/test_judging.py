"""Judging a run: coverage, canary, spot check, and what makes two runs comparable."""

from __future__ import annotations

import asyncio
from typing import Any

from builders import make_case, make_chunk, make_labelled, make_response, make_result
from judging import ScriptedAsker, as_written, canary_line, grounded, make_canary, make_judge
from raggate.judges.canary import CanarySet
from raggate.judges.judging import JudgedRun, Plan, SpotPlan, identity, judge_run, sample
from raggate.judges.replies import GroundednessReply
from raggate.models.judging import Judgement, JudgeRequest, NotJudged, Parameters
from raggate.models.run import LabelledResult
from tables import each_row

FOUR = grounded(4, unsupported_claims=["b"])


class Asking:
    """The ways to ask, scripted; `calls` says whether the first one calls a server."""

    def __init__(self, first: ScriptedAsker, fresh: ScriptedAsker | None = None, *, calls: bool = True) -> None:
        self.first = first
        self.fresh = fresh or first
        self.calls = calls

    def called(self) -> bool:
        """Return whether a call was made."""
        return self.calls and bool(self.first.requests or self.fresh.requests)


def answer(name: str, text: str = "So [1].", **api: Any) -> LabelledResult:
    """Build an answer with a passage."""
    case = make_case(name)
    return make_labelled(case, make_result(name, response=make_response(make_chunk(), answer=text, **api)))


def plan(**fields: Any) -> Plan:
    """Build a plan of one judge of groundedness."""
    known = {"models": (make_judge(),), "parameters": Parameters(max_tokens=100), "scores": ("groundedness",)}
    return Plan(**{**known, **fields})


def judged(items: list[LabelledResult], asking: Asking, **fields: Any) -> JudgedRun:
    """Judge a run."""
    return asyncio.run(judge_run(items, plan(**fields), asking))


def test_coverage_counts_what_could_be_judged() -> None:
    """Of five answers one refused, one timed out and one was beyond the budget: 2 of 4 are judged, by reason."""
    replies = {"t": NotJudged(reason="timeout"), "b": NotJudged(reason="budget")}

    def reply(request: JudgeRequest) -> GroundednessReply | NotJudged:
        return next(
            (replies[name] for name in replies if f'Question {name}?"' in request.prompt.messages[1].text), FOUR
        )

    items = [answer("a"), answer("b"), answer("c"), answer("t"), answer("r", abstained=True)]
    done: list[int] = []
    run = asyncio.run(judge_run(items, plan(), Asking(ScriptedAsker(groundedness=reply)), done.append))
    coverage = run.summary.scores["groundedness"]
    assert (coverage.expected, coverage.judged, coverage.share) == (4, 2, 0.5)
    assert coverage.reasons == {"budget": 1, "timeout": 1}
    assert coverage.usage.replies == 4
    assert [given[0].value for given in run.judgements] == [4, None, 4, None, None]
    assert done == [1, 2, 3, 4, 5]


def test_a_reply_that_answers_share_is_paid_once() -> None:
    """Equal answers, as two modes give them, rest on one reply."""
    items = [answer("a"), answer("a"), answer("b")]
    summary = judged(items, Asking(four_for_all()), scores=("groundedness", "faithfulness")).summary
    usage = summary.usage
    assert (usage.replies, usage.input_tokens, usage.output_tokens) == (2, 20, 2)
    assert summary.scores["groundedness"].judged == 3


def test_the_canary_is_asked_anew_where_the_run_called() -> None:
    """A cassette says nothing of today's server: once a call was made, the canary set is asked, and else replayed."""
    cases = CanarySet(cases=make_canary(canary_line(1, 4), canary_line(2, 1)).cases, hash="h", floor=0.6)
    first, fresh = ScriptedAsker(groundedness=FOUR), as_written()
    called = judged([answer("a")], Asking(first, fresh), canary=cases).summary.canary
    assert (len(first.requests), len(fresh.requests)) == (1, 2)
    assert called is not None
    assert (called.replayed, called.scores["groundedness"].kappa) == (False, 1.0)
    replayed = judged([answer("a")], Asking(four_for_all(), fresh, calls=False), canary=cases).summary.canary
    assert replayed is not None
    assert replayed.replayed
    assert len(fresh.requests) == 2
    # a case that the cassette lacked took a call, so that all of them are called for
    in_part = judged([], Asking(as_written(), fresh), canary=cases).summary.canary
    assert in_part is not None
    assert (in_part.replayed, len(fresh.requests)) == (False, 4)
    # neither the cassette nor anybody else has answered
    missing = ScriptedAsker(groundedness=NotJudged(reason="replay_miss"))
    unanswered = judged([answer("a")], Asking(missing, fresh, calls=False), canary=cases).summary.canary
    assert unanswered is not None
    assert not unanswered.replayed


def four_for_all() -> ScriptedAsker:
    """Script a judge that gives four points to all."""
    return ScriptedAsker(groundedness=FOUR)


def test_a_spot_check_by_a_second_model() -> None:
    """Of two answers a second model is two points away from one: a rate of 0.5 over 2."""

    def reply(request: JudgeRequest) -> GroundednessReply:
        far = request.model.name == "second" and 'Question a?"' in request.prompt.messages[1].text
        return grounded(2 if far else 4, unsupported_claims=["b"])

    spot = SpotPlan(n=10, model=make_judge("second"))
    check = judged([answer("a"), answer("b")], Asking(ScriptedAsker(groundedness=reply)), spot=spot).summary.spot_check
    assert check is not None
    assert (check.disagreement_rate, check.spot_check_n, check.by) == (0.5, 2, "second")


def test_a_spot_check_by_another_wording() -> None:
    """Without a second model the first is asked in other words about the same material."""
    ask = ScriptedAsker(groundedness=FOUR)
    check = judged([answer("a")], Asking(ask), spot=SpotPlan(n=1)).summary.spot_check
    assert check is not None
    assert (check.disagreement_rate, check.spot_check_n, check.by) == (0.0, 1, "")
    first, second = ask.requests
    assert first.prompt.messages[0] == second.prompt.messages[0]
    assert first.prompt.messages[1] != second.prompt.messages[1]


def test_a_spot_check_that_says_nothing_has_no_rate() -> None:
    """Where the second opinion has no value, there is no rate, and not a rate of nought."""

    def reply(request: JudgeRequest) -> GroundednessReply | NotJudged:
        return NotJudged(reason="timeout") if request.model.name == "second" else FOUR

    spot = SpotPlan(n=1, model=make_judge("second"))
    check = judged([answer("a")], Asking(ScriptedAsker(groundedness=reply)), spot=spot).summary.spot_check
    assert check is not None
    assert (check.disagreement_rate, check.spot_check_n) == (None, 0)


def test_a_sample_is_seeded_and_of_what_has_a_value() -> None:
    """The same seed draws the same answers, another one others, and none that was not judged."""
    valued = (Judgement(score="groundedness", value=4.0),)
    answers = [valued, (Judgement(score="groundedness", value=None, reason="budget"),), *[valued] * 30]
    names = [f"q{number}" for number in range(32)]
    assert sample(names, answers, 5, 0) == sample(names, answers, 5, 0)
    assert sample(names, answers, 5, 0) != sample(names, answers, 5, 1)
    assert len(sample(names, answers, 5, 0)) == 5
    assert 1 not in sample(names, answers, 31, 0)


@each_row(
    "change",
    [
        {"models": (make_judge("other"),)},
        {"models": (make_judge(build="b2"),)},
        {"models": (make_judge(json_schema=False),)},
        {"models": (make_judge(), make_judge("other"))},
        {"scores": ("groundedness", "correctness")},
        {"each_claim": True},
        {"parameters": Parameters(max_tokens=100, temperature=0.5)},
        {"parameters": Parameters(max_tokens=200)},
    ],
)
def test_what_makes_two_runs_comparable(change: dict[str, Any]) -> None:
    """Another model, build, prompt, temperature or way of judging is another judge."""
    assert identity(plan()) == identity(plan())
    assert identity(plan()) != identity(plan(**change))
