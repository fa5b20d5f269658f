"""What is asked to see what sways a judge: which answers, which variants, and nothing that shows no difference."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from builders import make_case, make_chunk, make_labelled, make_response, make_result
from judging import ScriptedAsker, grounded, make_judge, material_in
from raggate.judges.bias import BiasPlan, draw, eligible, grade_variants
from raggate.judges.replies import ContextRelevancyReply, GroundednessReply
from raggate.models.judging import JudgeRequest, NotJudged, Parameters
from raggate.models.judging_bias import AnswerGrades
from raggate.models.run import LabelledResult

FOUR = grounded(4, unsupported_claims=["b"])


def answer(name: str, text: str | None = "So [1].", *, passages: int = 3, mode: str = "hybrid", repeat: int = 1) -> Any:
    """Build an answer with passages."""
    chunks = [make_chunk(f"c{number}", text=f"Text {number}.") for number in range(passages)]
    result = make_result(name, mode=mode, repeat=repeat, response=make_response(*chunks, answer=text))
    return make_labelled(make_case(name), result)


def plan(*scores: str, **fields: Any) -> BiasPlan:
    """Build a plan of one judge."""
    known = {"models": (make_judge(),), "parameters": Parameters(max_tokens=100), "answered_by": lambda _: ""}
    return BiasPlan(**{**known, "scores": scores or ("groundedness",), **fields})


def graded(items: list[LabelledResult], ask: ScriptedAsker, *scores: str, **fields: Any) -> tuple[AnswerGrades, ...]:
    """Grade them in all variants."""
    return asyncio.run(grade_variants(items, plan(*scores, **fields), ask))


def test_each_answer_is_shown_as_it_is_and_changed() -> None:
    """Once by another seed, in two other orders, and longer; not shorter, as there is nothing to take away."""
    ask = ScriptedAsker(groundedness=FOUR)
    (row,) = graded([answer("a")], ask)
    assert list(row.variants) == ["again", "reversed", "shuffled", "longer"]
    assert [request.parameters.seed for request in ask.requests] == [1, 2, 1, 1, 1]
    assert [request.prompt.about.get("variant") for request in ask.requests] == [None, *row.variants]
    numbers = [[passage["number"] for passage in material_in(request)["passages"]] for request in ask.requests]
    assert numbers[:3] == [[1, 2, 3], [1, 2, 3], [3, 2, 1]]
    assert numbers[3] not in numbers[:3]


def test_what_a_judge_cannot_tell_apart_is_no_variant() -> None:
    """Of one passage there is no other order; who is shown passages alone sees nothing of a longer answer."""
    relevancy = ContextRelevancyReply(reasoning="So.", helpful_passages=[1])
    ask = ScriptedAsker(groundedness=FOUR, context_relevancy=relevancy)
    rows = {row.score: row for row in graded([answer("a", passages=1)], ask, "groundedness", "context_relevancy")}
    assert set(rows["groundedness"].variants) == {"again", "longer"}
    assert set(rows["context_relevancy"].variants) == {"again"}


def test_nothing_more_is_asked_of_an_answer_without_a_grade() -> None:
    """Where the answer as it is was not judged, no variant is asked about: there is nothing to hold it against."""
    ask = ScriptedAsker(groundedness=NotJudged(reason="timeout"))
    (row,) = graded([answer("a")], ask)
    assert (row.original.reason, row.variants, len(ask.requests)) == ("timeout", {}, 1)


def test_a_variant_that_was_not_judged_has_its_reason() -> None:
    """What goes wrong with a variant stands beside it, and is no grade."""

    def reply(request: JudgeRequest) -> GroundednessReply | NotJudged:
        return NotJudged(reason="budget") if request.prompt.about.get("variant") == "longer" else FOUR

    (row,) = graded([answer("a")], ScriptedAsker(groundedness=reply))
    assert (row.variants["longer"].value, row.variants["longer"].reason) == (None, "budget")


def test_every_judge_stands_alone_under_its_own_name() -> None:
    """Judges of a panel are tried one by one, two of one name told apart by build and server."""
    models = (make_judge(), make_judge(build="b2"), make_judge("large"))
    rows = graded([answer("a")], ScriptedAsker(groundedness=FOUR), models=models)
    assert [row.judge for row in rows] == ["small (b1, local)", "small (b2, local)", "large"]
    assert {row.answer for row in rows} == {0}


def test_answers_without_a_text_and_later_ones_are_left_out() -> None:
    """There is nothing to grade of an answer that is empty, and a second answer to a question is no other question."""
    failed = replace(answer("f").result, response=None)
    without = LabelledResult(case=make_case("f"), result=failed, labels=answer("f").labels)
    items = [answer("a"), answer("b", ""), answer("c", None), answer("a", repeat=2), without]
    assert [item.case.id for item in eligible(items)] == ["a"]


def test_each_question_is_drawn_once_before_any_is_drawn_twice() -> None:
    """Of ten questions in two modes the first ten answers are to ten questions, whatever the seed, and seeds differ."""
    items = [answer(f"q{number}", mode=mode) for number in range(10) for mode in ("hybrid", "vector")]
    for seed in range(3):
        drawn = draw(items, 10, seed)
        assert len({item.case.id for item in drawn}) == 10
        assert drawn == draw(items[::-1], 10, seed)
    assert draw(items, 10, 0) != draw(items, 10, 1)
    assert len(draw(items, 100, 0)) == 20
