"""Abstention metrics: who was refused, who should have been."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_chunk, make_failure, make_labelled, make_response, make_result
from raggate.scoring.metrics import abstention
from tables import each_row

REFUSED = {"abstained": True, "answer": "I cannot tell."}
ANSWERED = {"abstained": False, "answer": "Under the mat."}


@each_row(
    ("answerable", "response", "accuracy", "hallucination", "false_abstention"),
    [
        pytest.param(False, REFUSED, 1, 0, None, id="unanswerable, refused"),
        pytest.param(False, ANSWERED, 0, 1, None, id="unanswerable, answered"),
        pytest.param(False, {"answer": " \n"}, 1, 0, None, id="unanswerable, a blank answer"),
        pytest.param(False, {"answer": None}, 0, 1, None, id="unanswerable, none asked for, not refused"),
        pytest.param(False, None, 0, 1, None, id="unanswerable, failed call"),
        pytest.param(True, REFUSED, None, None, 1, id="answerable, refused"),
        pytest.param(True, ANSWERED, None, None, 0, id="answerable, answered"),
        pytest.param(True, {"answer": " "}, None, None, 1, id="answerable, a blank answer"),
        pytest.param(True, None, None, None, 1, id="answerable, failed call"),
    ],
)
def test_abstention(
    answerable: bool,
    response: dict[str, Any] | None,
    accuracy: float | None,
    hallucination: float | None,
    false_abstention: float | None,
) -> None:
    """Each metric judges its own kind of question; a failed call counts as the worst outcome and stays in the mean."""
    fields = {"failure": make_failure()} if response is None else {"response": make_response(make_chunk(), **response)}
    item = make_labelled(make_case(answerable=answerable), make_result(**fields))
    assert abstention.abstention_accuracy(item) == accuracy
    assert abstention.hallucination_rate_unanswerable(item) == hallucination
    assert abstention.false_abstention_rate(item) == false_abstention
