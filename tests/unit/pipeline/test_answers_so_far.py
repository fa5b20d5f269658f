"""What is said of the answers of a run that a signal cut short."""

from __future__ import annotations

from builders import make_result
from raggate.models.run import Failure
from raggate.pipeline.answers_so_far import AnswersSoFar


def test_calls_that_were_made_are_counted() -> None:
    """A failed call was made; one that a stop left over was not."""
    answers = AnswersSoFar()
    answers.results.extend(
        [
            make_result("q1"),
            make_result("q1", mode="vector"),
            make_result("q2", failure=Failure(kind="timeout", message="no answer")),
            make_result("q3", failure=Failure(kind="aborted", message="not asked")),
        ]
    )
    assert answers.interrupted(8) == "interrupted after 3 of 8 calls"
