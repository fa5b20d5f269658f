"""Rank-biased overlap, by hand with persistence 0.9 and by what must hold of any two rankings."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from raggate.scoring.overlap import rank_biased_overlap
from tables import each_row

RANKINGS = st.lists(st.integers(0, 6), max_size=8)


@each_row(
    ("first", "second", "overlap"),
    [
        pytest.param("ab", "ab", 1.0, id="the same"),
        pytest.param("", "", 1.0, id="nothing twice"),
        pytest.param("ab", "", 0.0, id="something and nothing"),
        pytest.param("ab", "cd", 0.0, id="nothing in common"),
        pytest.param("ab", "ba", 0.1 / 0.9 * (2 / 2 * 0.81) + 2 / 2 * 0.81, id="first two swapped"),
        pytest.param("abc", "acb", 0.1 / 0.9 * (0.9 + 0.81 / 2 + 0.729) + 0.729, id="second and third swapped"),
        pytest.param("a", "ab", 1.0, id="a prefix is taken to go on as it agreed"),
        pytest.param("b", "ab", 0.1 / 0.9 * (0.81 / 2) + 0.81 / 2, id="a shorter list that misses the first"),
        pytest.param("aab", "ab", 1.0, id="what stands there again has no rank"),
    ],
)
def test_by_hand(first: str, second: str, overlap: float) -> None:
    """Equation 32 of Webber, Moffat and Zobel."""
    assert rank_biased_overlap(first, second) == pytest.approx(overlap)


@given(RANKINGS, RANKINGS)
def test_of_any_two_rankings(first: list[int], second: list[int]) -> None:
    """It lies between 0 and 1, does not depend on which comes first, and is 1 for a ranking with itself."""
    overlap = rank_biased_overlap(first, second)
    assert 0 <= overlap <= 1
    assert overlap == pytest.approx(rank_biased_overlap(second, first))
    assert rank_biased_overlap(first, first) == pytest.approx(1)
    assert (overlap == 0) == (not set(first) & set(second) and bool(first or second))


def test_the_top_counts_most() -> None:
    """A difference at the first rank weighs more than the same one at the third."""
    assert rank_biased_overlap("abcd", "bacd") < rank_biased_overlap("abcd", "abdc")
