"""Where a question's passage stood and stands, in words."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_flip, make_support
from raggate.reports.parts import ranks
from tables import each_row


@each_row(
    ("fields", "written"),
    [
        pytest.param({"before": 1, "after": 7}, "rank 1 → 7", id="fell"),
        pytest.param({"before": 1, "after": None}, "rank 1 → not found", id="lost"),
        pytest.param({"before": None, "after": 2}, "not found → rank 2", id="found"),
        pytest.param(
            {"metric": "recall_all_at_5", "before": 2, "after": None},
            "complete at rank 2 → incomplete",
            id="incomplete",
        ),
        pytest.param(
            {"metric": "recall_all_at_5", "before": None, "after": 3}, "incomplete → complete at rank 3", id="complete"
        ),
        pytest.param({"metric": "recall_all_at_5", "before": 2, "after": 8}, "complete at rank 2 → 8", id="deeper"),
        pytest.param({"metric": "abstention_accuracy"}, "abstained → did not abstain", id="stopped-abstaining"),
        pytest.param(
            {"metric": "abstention_accuracy", "kind": "fixed"}, "did not abstain → abstained", id="abstains-again"
        ),
        pytest.param({"metric": "false_abstention_rate"}, "did not abstain → abstained", id="refused"),
        pytest.param(
            {"metric": "false_abstention_rate", "kind": "fixed"}, "abstained → did not abstain", id="answers-again"
        ),
    ],
)
def test_rank_change(fields: dict[str, Any], written: str) -> None:
    """A flip is written as where the passage was and where it is."""
    assert ranks.rank_change(make_flip(**fields)) == written


@each_row(
    ("fields", "written"),
    [
        pytest.param({"before": 1, "after": 7}, "hit@1 worse, rank 1 → 7", id="lower"),
        pytest.param({"before": 7, "after": None}, "hit@1 worse, rank 7 → not found", id="lost"),
        pytest.param({"before": 2, "after": 2}, "hit@1 worse, at the same rank", id="same-rank"),
        pytest.param({"before": None, "after": None}, "hit@1 worse, not found, as in the baseline", id="in-neither"),
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
    assert ranks.rank_change(flip) == written
