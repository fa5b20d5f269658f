"""The order of a run: by time, by mode, and as in the golden set, however results came in."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from builders import make_case, make_result
from raggate.models.run import Result
from raggate.pipeline.measure import in_order

CASES = [make_case(name) for name in ("q2", "q1", "q3")]
MODES = ("lexical", "hybrid")
ALL = [make_result(case.id, mode=mode, repeat=repeat) for repeat in (1, 2) for mode in MODES for case in CASES]


@given(st.lists(st.sampled_from(ALL), unique_by=id))
def test_any_arrival_gives_one_order(arrived: list[Result]) -> None:
    """Results that came in any order, some of them missing, are in that of a whole run, each with its case."""
    ordered = list(in_order(CASES, MODES, arrived))
    assert [result for _, result in ordered] == [result for result in ALL if any(result is own for own in arrived)]
    assert all(case.id == result.case_id for case, result in ordered)


def test_a_second_answer_is_refused() -> None:
    """Two answers to one question at one time are no run."""
    with pytest.raises(ValueError, match="two answers to q1 in mode hybrid"):
        list(in_order(CASES, ("hybrid",), [make_result("q1"), make_result("q1")]))
