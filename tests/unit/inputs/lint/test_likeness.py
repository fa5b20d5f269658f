"""Pairs of texts that are nearly the same are found without comparing all of them."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, strategies as st

from raggate.inputs.lint.likeness import alike
from tries import tried

TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=7), max_size=12)


@given(TEXTS, st.sampled_from([0.3, 0.5, 0.8, 1.0]))
@tried(60)
def test_no_pair_is_missed(texts: list[list[str]], least: float) -> None:
    """The pairs are those that comparing every pair gives."""
    sets = [set(text) for text in texts]
    wanted = {
        (left, right)
        for left, right in combinations(range(len(sets)), 2)
        if sets[left] and sets[right] and len(sets[left] & sets[right]) >= least * len(sets[left] | sets[right]) - 1e-9
    }
    assert set(alike(texts, least)) == wanted
