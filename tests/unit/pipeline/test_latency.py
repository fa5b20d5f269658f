"""Which questions are timed."""

from __future__ import annotations

import pytest

from builders import make_chunk, make_chunks, make_failure, make_response, make_result
from raggate.models.run import Result
from raggate.pipeline.latency import MOST_QUESTIONS, another_answer, drawn


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


MEASURED = make_result("q", response=make_response(*make_chunks("a.md", "b.md", "c.md", "d.md"), answer="Nine."))
NEW_IDS = tuple(make_chunk(f"new {path}", rel_path=path) for path in ("d.md", "c.md"))

# an API that tells no ids has them made of the text, so that they are others too
STAMPED = tuple(make_chunk(f"new {path}", rel_path=path, text="Text, 18:30:02") for path in ("b.md", "a.md"))


@pytest.mark.parametrize(
    ("timed", "other"),
    [
        pytest.param(MEASURED, False, id="the same"),
        pytest.param(
            make_result("q", response=make_response(*NEW_IDS, answer="9.")), False, id="half of it by new ids"
        ),
        pytest.param(make_result("q", response=make_response(*STAMPED, answer="Nine.")), False, id="other times in it"),
        pytest.param(make_result("q", response=make_response(*NEW_IDS[:1], answer="Nine.")), True, id="a quarter"),
        pytest.param(make_result("q", response=make_response(answer="Nine.")), True, id="nothing"),
        pytest.param(make_result("q", response=make_response(*make_chunks("a.md", "b.md"))), True, id="no answer"),
        pytest.param(make_result("q", failure=make_failure()), False, id="a failure, which is told as one"),
    ],
)
def test_what_is_timed_is_what_was_scored(timed: Result, other: bool) -> None:
    """An answer of which more than half is gone took no time that tells anything of the answer that was scored."""
    assert another_answer(MEASURED, timed) is other
    assert not another_answer(make_result("q", response=make_response()), make_result("q"))


def test_one_chunk_of_a_note_is_not_all_of_them() -> None:
    """Attack: where all chunks that were scored are of one section, one of them is as little as anywhere."""
    four = [make_chunk(f"c{number}", text=f"Part {number}.") for number in range(4)]
    measured, timed = (make_result("q", response=make_response(*chunks)) for chunks in (four, four[:1]))
    assert another_answer(measured, timed)


def test_chunks_without_a_place_are_known_by_id_and_text_alone() -> None:
    """Where an API tells ids alone, chunks of other ids and texts are others, though both lack a place."""
    bare = {"rel_path": "", "heading_path": ""}
    measured = make_result("q", response=make_response(make_chunk("a", text="One.", **bare)))
    timed = make_result("q", response=make_response(make_chunk("b", text="Two.", **bare)))
    assert another_answer(measured, timed)
