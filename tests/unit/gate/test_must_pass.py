"""What a question that must pass lacks, in one answer and in several."""

from __future__ import annotations

import pytest

from builders import make_case_score
from raggate.gate.must_pass import first_miss, lacking
from raggate.models.scorecard import CaseScore
from raggate.scoring.repeats import averaged
from tables import each_row

REFUSED = {"hit_at_5": 1.0, "false_abstention_rate": 1.0}


def answer(rank: int | None, values: dict[str, float | None] | None = None, failure: str | None = None) -> CaseScore:
    """Return the score of one answer to a question that must pass."""
    hit: dict[str, float | None] = {"hit_at_5": float(rank is not None and rank <= 5)}
    return make_case_score(values=values or hit, rank=rank, failure=failure, must_pass=True)


@each_row(
    ("answers", "lacks", "place"),
    [
        pytest.param([answer(1)], None, 0, id="one answer, a hit"),
        pytest.param([answer(6)], "nothing expected is within rank 5", 0, id="one answer, a miss"),
        pytest.param([answer(1), answer(5)], None, 0, id="each a hit"),
        pytest.param([answer(1), answer(2), answer(6), answer(1)], "rank 5 in 1 of 4 answers", 2, id="a later miss"),
        pytest.param([answer(None), answer(1)], "rank 5 in 1 of 2 answers", 0, id="a first miss"),
        pytest.param([answer(1), answer(1, REFUSED)], "the API abstained in 1 of 2 answers", 1, id="refused once"),
        pytest.param(
            [answer(1), answer(None, failure="timeout"), answer(9)],
            "the call failed (timeout) in 2 of 3 answers",
            1,
            id="a failed call and a miss",
        ),
    ],
)
def test_it_must_pass_in_every_answer(answers: list[CaseScore], lacks: str | None, place: int) -> None:
    """One answer that lacks something is enough; told is the first such one, and how many there are."""
    case = averaged(answers[0], answers[1:])
    missed = lacking(case, 5)
    assert (missed is None) == (lacks is None)
    assert missed is None or missed[0].endswith(str(lacks))
    assert first_miss(case, 5) == place


def test_other_questions_keep_no_answers() -> None:
    """A question that need not pass is its means, however often it was asked."""
    assert averaged(make_case_score(), [make_case_score(rank=9)]).answers == ()
