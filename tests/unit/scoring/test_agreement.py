"""Agreement between annotators against worked examples of the literature."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from hypothesis import given, strategies as st

from raggate.scoring.agreement import krippendorff_alpha, percent_agreement, weighted_kappa, weighted_kappa_interval
from raggate.scoring.intervals import Interval, Sampling
from raggate_interop.labels.agreement import alpha_interval
from tables import each_row

# Krippendorff (2011), section C: four observers, twelve units, values missing
FOUR = ("123321412...", "1233224125.3", ".3332342251.", "1233244125" + "1.")


def test_alpha_of_four_observers_with_gaps() -> None:
    """40 pairable values, three units apart by 2, 4 and 2: 1 - 39 * 8 / 1216 = 0.743."""
    units = [[value for value in column if value != "."] for column in zip(*FOUR, strict=True)]
    alpha = krippendorff_alpha(units)
    assert alpha == pytest.approx(1 - 39 * 8 / 1216)
    assert round(alpha or 0, 3) == 0.743


@each_row(
    ("units", "expected"),
    [
        ([], None),
        ([[1], [0], []], None),
        ([[1, 1], [1, 1]], None),
        ([[1, 1], [0, 0]], 1.0),
        # n = 4, two ones: 1 - 3 * 4 / 8
        ([[1, 0], [0, 1]], -0.5),
        ([[1, 1], [0, 0], [1]], 1.0),
    ],
)
def test_alpha_edges(units: list[list[int]], expected: float | None) -> None:
    """Alpha is undefined without pairs and without variation, and counts no unit that one annotator judged alone."""
    assert krippendorff_alpha(units) == expected


def test_alpha_without_variation() -> None:
    """Where all values are the same, alpha is what the caller says; without any pair it stays undefined."""
    assert krippendorff_alpha([[1, 1], [1, 1]], without_variation=1.0) == 1.0
    assert krippendorff_alpha([[1]], without_variation=1.0) is None
    assert alpha_interval([[1, 1], [1, 1]], without_variation=1.0) == Interval(1.0, 1.0)
    assert alpha_interval([[1, 1], [1, 1]]) is None
    assert alpha_interval([[1]]) is None
    assert (krippendorff_alpha([[1, 2], [1]]), alpha_interval([[1, 2], [1]])) == (0.0, None)


UNITS = st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=12)


@given(units=UNITS)
def test_alpha_is_the_definition(units: list[list[Hashable]]) -> None:
    """The closed form equals observed over expected disagreement, counted pair by pair."""
    kept = [unit for unit in units if len(unit) > 1]
    values = [value for unit in kept for value in unit]
    n = len(values)
    observed = sum(
        (unit[i] != unit[j]) / (len(unit) - 1)
        for unit in kept
        for i in range(len(unit))
        for j in range(len(unit))
        if i != j
    )
    expected = sum(values[i] != values[j] for i in range(n) for j in range(n))
    alpha = krippendorff_alpha(units)
    if expected == 0:
        assert alpha is None
    else:
        assert alpha == pytest.approx(1 - (observed / n) / (expected / (n * (n - 1))))


@each_row(
    ("first", "second", "expected"),
    [
        ([], [], None),
        ([5, 5], [5, 5], None),
        ([0, 5], [0, 5], 1.0),
        ([0, 5], [5, 0], -1.0),
        # all of one grade say nothing of the other's grades
        ([5, 5], [0, 5], 0.0),
        # one unit apart by 1: 4 * 1 of 4 * 11 - 2 * 3 * 4 = 20
        ([0, 0, 1, 2], [0, 1, 1, 2], 0.8),
        # a median of two judges: 3 * 0.25 of 3 * 18.25 - 2 * 3 * 3.5 = 33.75
        ([0, 0, 3], [0, 0.5, 3], 1 - 0.75 / 33.75),
    ],
)
def test_weighted_kappa(first: list[float], second: list[float], expected: float | None) -> None:
    """Grades on a scale agree by the square of their distance, against that of the same grades drawn at random."""
    kappa = weighted_kappa(first, second)
    assert kappa == (None if expected is None else pytest.approx(expected))


def test_interval_of_weighted_kappa() -> None:
    """The interval is the same for the same seed and holds the estimate; without any variation there is none."""
    first, second = [0, 0, 1, 2, 5, 4, 3, 0], [0, 1, 1, 2, 4, 5, 3, 2]
    interval = weighted_kappa_interval(first, second, Sampling(seed=7))
    assert interval is not None
    assert interval == weighted_kappa_interval(first, second, Sampling(seed=7))
    assert interval.lower < (weighted_kappa(first, second) or 0) < interval.upper <= 1.0
    assert weighted_kappa_interval([], []) is None
    assert weighted_kappa_interval([3, 3], [3, 3]) is None


def test_percent() -> None:
    """Of three votes 2 : 1, one pair of three agrees; units with one vote do not count."""
    assert percent_agreement([[1, 1, 0], [1, 1], [0]]) == pytest.approx((1 / 3 + 1) / 2)
    assert percent_agreement([[1], []]) is None
