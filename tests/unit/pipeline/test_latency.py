"""Which questions are timed."""

from __future__ import annotations

from builders import make_chunk, make_failure, make_result
from raggate.pipeline.latency import MOST_QUESTIONS, drawn


def test_which_questions_are_timed_is_not_known_before() -> None:
    """Attack: a change that is fast in the questions that are timed, and slow in all others, has to know them."""
    results = [make_result(f"q{number}", make_chunk()) for number in range(20 * MOST_QUESTIONS)]
    first, second = ({result.case_id for result in drawn(results)} for _ in range(2))
    assert len(first) == len(second) == MOST_QUESTIONS
    # that more than half of them are drawn again has a chance of less than 1e-18
    assert len(first & second) < MOST_QUESTIONS / 2


def test_a_question_without_an_answer_is_not_timed() -> None:
    """What is timed are the questions that the run has an answer to, all of them where they are few."""
    results = [make_result("good", make_chunk()), make_result("bad", failure=make_failure())]
    assert [result.case_id for result in drawn(results)] == ["good"]
