"""How grades go with the length of answers: ranks by hand, too few questions, and whose grades they are."""

from __future__ import annotations

import pytest

from builders import make_case, make_chunk, make_labelled, make_response, make_result
from raggate.gate.length_correlation import interval, length_correlations, spearman
from raggate.models.judging import Judgement
from raggate.models.run import LabelledResult
from tables import each_row


def graded(name: str, length: int, *judgements: Judgement, mode: str = "hybrid") -> LabelledResult:
    """Build an answer of so many characters with these grades."""
    response = make_response(make_chunk(), answer="x" * length)
    item = make_labelled(make_case(name), make_result(name, mode=mode, response=response))
    return LabelledResult(case=item.case, result=item.result, labels=item.labels, judgements=judgements)


def grade(value: float | None, judge: str = "small", score: str = "groundedness") -> Judgement:
    """Build what a judge says."""
    return Judgement(score=score, value=value, reason=None if value is not None else "budget", judge=judge)


@each_row(
    ("first", "second", "rho"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [40, 30, 20, 10], -1.0),
        # ranks 1 2 3 4 and 2 1 4 3: 1 - 6 * 4 / 60
        ([1, 2, 3, 4], [2, 1, 4, 3], 0.6),
        # ranks 1 2 3 4 and 1.5 1.5 3.5 3.5: a covariance of 4 by the root of 5 * 4
        ([1, 2, 3, 4], [7, 7, 9, 9], 4 / 20**0.5),
        ([1, 2, 3], [5, 5, 5], None),
        ([], [], None),
        ([1], [1], None),
    ],
)
def test_rank_correlations_by_hand(first: list[float], second: list[float], rho: float | None) -> None:
    """Ties have the mean of their ranks, and what does not vary has no correlation."""
    assert spearman(first, second) == (None if rho is None else pytest.approx(rho))


def test_the_interval_is_that_of_bonett_and_wright() -> None:
    """For 0.5 over 28 units z is 0.5493 and its error the root of 1.125 / 25, so from 0.1327 to 0.7470."""
    assert interval(0.5, 28) == (pytest.approx(0.1326, abs=1e-3), pytest.approx(0.7471, abs=1e-3))
    assert interval(1.0, 28) == (1.0, 1.0)


def test_each_judge_of_a_panel_stands_alone() -> None:
    """Of a panel the votes count, of a grade that was given twice the first, and no grade is none of nought."""
    both = Judgement(score="groundedness", value=3.0, votes=(grade(1), grade(5, "large")))
    twice = Judgement(score="groundedness", value=4.5, samples=(both, grade(9, "small")), votes=both.votes)
    rows = length_correlations([graded("a", 3, both), graded("b", 4, twice), graded("c", 5, grade(None))])
    assert [(row.judge, row.answers, row.rho) for row in rows] == [("small", 2, None), ("large", 2, None)]


def test_what_is_given_without_the_answer_has_no_correlation_with_it() -> None:
    """Context relevancy is judged of passages alone, and answers without a text have no length."""
    assert length_correlations([graded("a", 3, grade(0.5, score="context_relevancy")), graded("b", 0, grade(3))]) == ()


def test_questions_are_counted_and_not_answers() -> None:
    """Forty answers to twenty questions are as sure as twenty, and those to nineteen tell nothing."""
    items = [
        graded(f"q{number}", number + 1, grade(number % 5), mode=mode)
        for number in range(20)
        for mode in ("hybrid", "vector")
    ]
    (row,) = length_correlations(items)
    assert (row.answers, row.questions) == (40, 20)
    assert row.rho is not None
    assert (row.low, row.high) == interval(row.rho, 20)
    (few,) = length_correlations(items[:38])
    assert (few.answers, few.questions, few.rho) == (38, 19, None)
