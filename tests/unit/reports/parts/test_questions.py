"""Where a question's passage stood and stands, in words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_flip, make_support
from pages import data_of
from raggate.models.run import LabelledResult
from raggate.models.verdict import Review
from raggate.reports import comment, terminal
from raggate.reports.page import report
from raggate.reports.parts import questions
from raggate.reports.parts.questions import misses_title
from reviews import first_run, regression
from tables import each_row


@each_row(
    ("fields", "written"),
    [
        pytest.param({"before": 1, "after": 7}, "rank 1 → 7", id="fell"),
        pytest.param({"before": 1, "after": None}, "rank 1 → not found", id="lost"),
        pytest.param(
            {"metric": "recall_all_at_5", "before": 2, "after": None},
            "complete at rank 2 → incomplete",
            id="incomplete",
        ),
        pytest.param({"metric": "abstention_accuracy"}, "abstained → did not abstain", id="stopped-abstaining"),
        pytest.param({"metric": "false_abstention_rate"}, "did not abstain → abstained", id="refused"),
    ],
)
def test_rank_change(fields: dict[str, Any], written: str) -> None:
    """A flip is written as where the passage was and where it is."""
    assert questions.rank_change(make_flip(**fields)) == written


@each_row(
    ("fields", "written"),
    [
        pytest.param({"before": 1, "after": 7}, "hit@1 worse, rank 1 → 7", id="lower"),
        pytest.param({"before": 2, "after": 2}, "hit@1 worse, rank 2, as in the baseline", id="same-rank"),
        pytest.param(
            {"metric": "recall_all_at_10", "before": 6, "after": None},
            "recall all@10 worse, complete at rank 6 → incomplete",
            id="one-passage-of-several",
        ),
        pytest.param(
            {"since": "added", "after": 9}, "hit@1 lower than usual, rank 9, added since the baseline", id="added"
        ),
        pytest.param({"support": None, "metric": "x"}, "x worse", id="without-passages"),
    ],
)
def test_a_question_that_fell(fields: dict[str, Any], written: str) -> None:
    """A question that got worse without breaking says by which metric, and where its passages stood and stand."""
    flip = make_flip(**{"kind": "fell", "metric": "hit_at_1", "support": make_support(), **fields})
    assert questions.rank_change(flip) == written


def test_questions_that_need_several_passages_may_be_found_in_part() -> None:
    """A question whose passages came back incompletely is not said to be not found."""
    review = first_run()
    (miss,) = review.misses
    in_part = replace(review, misses=(miss, replace(miss, case_id="other", metric="recall_all_at_5")))
    assert misses_title(review) == "Questions that were not found (1)"
    assert misses_title(in_part) == "Questions that were not found, or not completely (2)"


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def traced() -> Review:
    """Return a regression whose questions have a trace."""
    review = regression()

    def sent(item: LabelledResult) -> LabelledResult:
        return replace(item, result=replace(item.result, trace_id=TRACE))

    run = replace(review.run, results=tuple(map(sent, review.run.results)))
    flips = tuple(replace(flip, trace_id=TRACE) for flip in review.comparison.flips)
    return replace(review, run=run, comparison=replace(review.comparison, flips=flips))


def test_a_lost_question_names_its_trace() -> None:
    """Comment, terminal and page have its id, to be pasted into a viewer."""
    assert f"trace: `{TRACE}`" in comment.render_whole(traced())
    assert TRACE in terminal.render(traced(), width=200, color=False)
    assert {facts["trace"] for facts in data_of(report.render(traced()), "details")["details"]} == {TRACE}
