"""The title of the questions that a mode without a baseline does not answer."""

from __future__ import annotations

from msgspec.structs import replace

from raggate.reports.parts.misses import title
from reviews import first_run


def test_questions_that_need_several_passages_may_be_found_in_part() -> None:
    """A question whose passages came back incompletely is not said to be not found."""
    review = first_run()
    (miss,) = review.misses
    in_part = replace(review, misses=(miss, replace(miss, case_id="other", metric="recall_all_at_5")))
    assert title(review) == "Questions that were not found (1)"
    assert title(in_part) == "Questions that were not found, or not completely (2)"
