"""Scores by question: what is looked up is what a dict gives, however long the scorecard and whatever its order."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from builders import make_case_score
from raggate.gate.by_question import by_question
from raggate.models.score_packing import SCORES
from raggate.text import long_sequence
from raggate.text.long_sequence import LongSequence

KEYS = st.tuples(st.sampled_from(("hybrid", "bm25")), st.sampled_from("abcdefgh"))


@given(st.lists(KEYS, unique=True, max_size=12), st.lists(KEYS, max_size=20))
def test_gives_what_a_dict_would(stored: list[tuple[str, str]], wanted: list[tuple[str, str]]) -> None:
    """In whatever order they are asked for, that of the scorecard too; of what it does not have there is none."""
    cases = [make_case_score(name, mode=mode) for mode, name in stored]
    expected = {(case.mode, case.case_id): case for case in cases}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_sequence, "FEW", 3)
        scores = by_question(LongSequence(SCORES, cases))
        for key in (*stored, *wanted, *stored):
            assert scores.get(key) == expected.get(key)
        assert dict(scores) == expected
