"""Judging a run: coverage, canary, spot check, and what makes two runs comparable."""

from __future__ import annotations

import asyncio
from typing import Any

from builders import make_case, make_chunk, make_labelled, make_response, make_result
from judging import ScriptedAsker, as_written, canary_line, grounded, make_canary
from raggate.config.judge_settings import Judges
from raggate.judges.canary import CanarySet
from raggate.judges.judging import identity, judge_run, sample
from raggate.judges.replies import GroundednessReply
from raggate.models.judging import Judgement, JudgeRequest, JudgingSummary, NotJudged
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


def judge(name: str = "small", **keys: Any) -> dict[str, Any]:
    """Write one judge of the section."""
    return {"model": name, "base_url": "http://127.0.0.1:1", "build": "b1", **keys}


def settings(**keys: Any) -> Judges:
    """Build the section of one judge of groundedness."""
    return Judges.model_validate({"models": [judge()], "scores": ["groundedness"], **keys})


def judged(items: list[LabelledResult], asking: Asking, canary: CanarySet | None = None, **keys: Any) -> JudgingSummary:
    """Judge a run, and return how it went."""
    return asyncio.run(judge_run(items, settings(**keys), canary, asking)).summary


def test_coverage_counts_what_could_be_judged() -> None:
    """Of five answers one refused, one timed out and one was beyond the budget: 2 of 4 are judged, by reason."""
    replies = {"t": NotJudged(reason="timeout"), "b": NotJudged(reason="budget")}

    def reply(request: JudgeRequest) -> GroundednessReply | NotJudged:
        return next(
            (replies[name] for name in replies if f'Question {name}?"' in request.prompt.messages[1].text), FOUR
        )

    items = [answer("a"), answer("b"), answer("c"), answer("t"), answer("r", abstained=True)]
    done: list[int] = []
    run = asyncio.run(judge_run(items, settings(), None, Asking(ScriptedAsker(groundedness=reply)), done.append))
    coverage = run.summary.scores["groundedness"]
    assert (coverage.expected, coverage.judged, coverage.share) == (4, 2, 0.5)
    assert coverage.reasons == {"budget": 1, "timeout": 1}
    assert coverage.usage.replies == 4
    assert [given[0].value for given in run.judgements] == [4, None, 4, None, None]
    assert done == [1, 2, 3, 4, 5]


def test_a_reply_that_answers_share_is_paid_once() -> None:
    """Equal answers, as two modes give them, rest on one reply."""
    items = [answer("a"), answer("a"), answer("b")]
    summary = judged(items, Asking(four_for_all()), scores=["groundedness", "faithfulness"])
    usage = summary.usage
    assert (usage.replies, usage.input_tokens, usage.output_tokens) == (2, 20, 2)
    assert summary.scores["groundedness"].judged == 3


def test_the_canary_is_asked_anew_where_the_run_called() -> None:
    """A cassette says nothing of today's server: once a call was made, the canary set is asked, and else replayed."""
    cases = CanarySet(cases=make_canary(canary_line(1, 4), canary_line(2, 1)).cases, hash="h")
    first, fresh = ScriptedAsker(groundedness=FOUR), as_written()
    called = judged([answer("a")], Asking(first, fresh), canary=cases).canary
    assert (len(first.requests), len(fresh.requests)) == (1, 2)
    assert called is not None
    assert (called.replayed, called.scores["groundedness"].kappa) == (False, 1.0)
    replayed = judged([answer("a")], Asking(four_for_all(), fresh, calls=False), canary=cases).canary
    assert replayed is not None
    assert replayed.replayed
    assert len(fresh.requests) == 2
    # a case that the cassette lacked took a call, so that all of them are called for
    in_part = judged([], Asking(as_written(), fresh), canary=cases).canary
    assert in_part is not None
    assert (in_part.replayed, len(fresh.requests)) == (False, 4)
    # neither the cassette nor anybody else has answered
    missing = ScriptedAsker(groundedness=NotJudged(reason="replay_miss"))
    unanswered = judged([answer("a")], Asking(missing, fresh, calls=False), canary=cases).canary
    assert unanswered is not None
    assert not unanswered.replayed


def four_for_all() -> ScriptedAsker:
    """Script a judge that gives four points to all."""
    return ScriptedAsker(groundedness=FOUR)


@each_row(
    ("second", "rate", "n"), [(grounded(2, unsupported_claims=["b"]), 0.5, 2), (NotJudged(reason="timeout"), 0.0, 1)]
)
def test_a_spot_check_by_a_second_model(second: GroundednessReply | NotJudged, rate: float, n: int) -> None:
    """Of two answers one gets two points less: a rate of 0.5 over 2; one without a second value counts for nothing."""

    def reply(request: JudgeRequest) -> GroundednessReply | NotJudged:
        asked_of_one = request.model.model == "second" and 'Question a?"' in request.prompt.messages[1].text
        return second if asked_of_one else FOUR

    spot = {"spot_check": 10, "spot_model": judge("second")}
    check = judged([answer("a"), answer("b")], Asking(ScriptedAsker(groundedness=reply)), **spot).spot_check
    assert check is not None
    assert (check.disagreement_rate, check.spot_check_n, check.by) == (rate, n, "second")
    alone = judged([answer("a")], Asking(ScriptedAsker(groundedness=reply)), **spot).spot_check
    assert alone is not None
    assert (alone.disagreement_rate is None) == isinstance(second, NotJudged)


def test_a_spot_check_by_another_wording() -> None:
    """Without a second model the first is asked in other words about the same material."""
    ask = ScriptedAsker(groundedness=FOUR)
    check = judged([answer("a")], Asking(ask), spot_check=1).spot_check
    assert check is not None
    assert (check.disagreement_rate, check.spot_check_n, check.by) == (0.0, 1, "")
    first, second = ask.requests
    assert first.prompt.messages[0] == second.prompt.messages[0]
    assert first.prompt.messages[1] != second.prompt.messages[1]


def test_a_sample_is_steady_and_of_what_has_a_value() -> None:
    """The same answers are drawn each time, and none that was not judged."""
    valued = (Judgement(score="groundedness", value=4.0),)
    answers = [valued, (Judgement(score="groundedness", value=None, reason="budget"),), *[valued] * 30]
    names = [f"q{number}" for number in range(32)]
    assert len(sample(names, answers, 5)) == 5
    assert {*sample(names, answers, 5)} < {*sample([*names, "q32"], [*answers, valued], 6)}
    assert 1 not in sample(names, answers, 31)


@each_row(
    "change",
    [
        {"models": [judge("other")]},
        {"models": [judge(build="b2")]},
        {"models": [judge(json_schema=False)]},
        {"models": [judge(), judge("other")]},
        {"scores": ["groundedness", "correctness"]},
        {"claims": "each"},
    ],
)
def test_what_makes_two_runs_comparable(change: dict[str, Any]) -> None:
    """Another model, build, prompt or way of judging is another judge."""
    assert identity(settings()) == identity(settings())
    assert identity(settings()) != identity(settings(**change))
