"""Rank-biased overlap: values by hand from the paper's formula, and what must hold of any two rankings."""

from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given, strategies as st

from raggate.scoring.rank_overlap import rank_biased_overlap
from tables import each_row

TIED = [["a", "b"], ["c"]]


def ranked(letters: str) -> list[str]:
    """Return a ranking without ties: each letter is a group of one."""
    return [*letters]


@each_row(
    ("first", "second", "p", "expected"),
    [
        pytest.param(ranked("abc"), ranked("abc"), 0.9, 1.0, id="the-same"),
        pytest.param(ranked(""), ranked(""), 0.9, 1.0, id="both-empty"),
        pytest.param(ranked("a"), ranked(""), 0.9, 0.0, id="one-empty"),
        pytest.param(ranked("ab"), ranked("cd"), 0.9, 0.0, id="nothing-in-common"),
        # A = 0, 1: 0.1 / 0.9 * 0.81 + 0.81
        pytest.param(ranked("ab"), ranked("ba"), 0.9, 0.9, id="swapped"),
        # A = 1, 1/2: 0.1 / 0.9 * (0.9 + 0.405) + 0.405
        pytest.param(ranked("ab"), ranked("ac"), 0.9, 0.55, id="second-is-another"),
        # A = 0, 1/2: 0.5 / 0.5 * 0.125 + 0.125
        pytest.param(ranked("ab"), ranked("ca"), 0.5, 0.25, id="another-on-top"),
        # the shorter one agrees wholly at its end, and so beyond it
        pytest.param(ranked("a"), ranked("ab"), 0.9, 1.0, id="a-prefix"),
        # A = 0, 1/2, and at depth 3, where one item more is taken to agree by half: 2 * 1.5 / (2 + 1 + 3) = 1/2
        pytest.param(ranked("ab"), ranked("cad"), 0.5, 0.25, id="shorter-and-half-alike"),
        # A = 2/3, 1: 0.1 / 0.9 * (0.6 + 0.81) + 0.81
        pytest.param([["a", "b"]], ranked("ab"), 0.9, 0.1 / 0.9 * 1.41 + 0.81, id="tied-on-one-side"),
        pytest.param(TIED, [["b", "a"], ["c"]], 0.9, 1.0, id="tied-alike"),
    ],
)
def test_values(first: list[str], second: list[str], p: float, expected: float) -> None:
    """Each is computed by hand from the agreements at every depth."""
    assert isclose(rank_biased_overlap(first, second, p), expected, abs_tol=1e-12)


LETTERS = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)


@given(LETTERS, LETTERS, st.floats(0.05, 0.95))
def test_equation_32(first: list[str], second: list[str], p: float) -> None:
    """Without ties it is the paper's own formula for two lists of whichever lengths."""
    short, long = sorted((first, second), key=len)
    if not short:
        return
    s, size = len(short), len(long)
    common = [len(set(short[:depth]) & set(long[:depth])) for depth in range(size + 1)]
    total = sum(common[depth] / depth * p**depth for depth in range(1, size + 1))
    total += sum(common[s] * (depth - s) / (s * depth) * p**depth for depth in range(s + 1, size + 1))
    expected = (1 - p) / p * total + ((common[size] - common[s]) / size + common[s] / s) * p**size
    assert isclose(rank_biased_overlap(first, second, p), expected, abs_tol=1e-9)
