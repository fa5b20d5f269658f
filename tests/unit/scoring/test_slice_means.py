"""Means of slices: those of all their questions."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from builders import make_case_score
from raggate.models.scorecard import CaseScore
from raggate.scoring.score import directions, means
from raggate.scoring.slice_means import SliceMeans

VALUES = st.fixed_dictionaries(
    {"hit_at_1": st.sampled_from((None, 0.0, 1.0)), "ndcg_at_1": st.none() | st.floats(0, 1)},
    optional={"groundedness": st.none() | st.floats(0, 1)},
)


@st.composite
def scores(draw: st.DrawFn) -> CaseScore:
    """Draw the scores of a question in one of two modes, with one or two slices."""
    values = draw(VALUES)
    return make_case_score(
        "q",
        mode=draw(st.sampled_from(("lexical", "hybrid"))),
        values=values,
        slices=draw(st.sampled_from((("overall",), ("overall", "tag=b"), ("overall", "tag=a")))),
    )


@given(st.lists(scores(), max_size=20))
def test_each_slice_has_the_means_of_its_questions(cases: list[CaseScore]) -> None:
    """Each slice of each mode has the means, counts and order of metrics that its questions alone have."""
    parts = SliceMeans(directions((1,)))
    for case in cases:
        parts.add(case)
    by_mode, counts = parts.means(), parts.counts()
    assert list(by_mode) == list(dict.fromkeys(case.mode for case in cases))
    for mode, slices in by_mode.items():
        assert list(slices) == sorted({name for case in cases if case.mode == mode for name in case.slices})
        for name, own in slices.items():
            members = [case for case in cases if case.mode == mode and name in case.slices]
            assert counts[mode][name] == len(members)
            assert list(own) == list(means(members, (1,)))
            for metric, expected in means(members, (1,)).items():
                assert own[metric].value == pytest.approx(expected.value)
                assert (own[metric].n, own[metric].unscored) == (expected.n, expected.unscored)
