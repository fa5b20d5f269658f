"""Student's t and the paired t test, beside scipy, which is a development dependency alone."""

from __future__ import annotations

from math import isclose, sqrt

import pytest
import scipy
from hypothesis import given, strategies as st

from chances import t_test
from raggate.gate.statistics.student import paired_t, t_below, t_quantile
from tables import each_row

CHANGES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=2, max_size=60)


@each_row(
    ("freedom", "quantile"),
    # the two-sided 95% column of every printed table
    [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (29, 2.045), (120, 1.980)],
)
def test_printed_table(freedom: int, quantile: float) -> None:
    """The quantiles are those of printed tables."""
    assert round(t_quantile(0.975, freedom), 3) == quantile


@given(t=st.floats(-60, 60), freedom=st.integers(1, 10_000))
def test_distribution_of_scipy(t: float, freedom: int) -> None:
    """The distribution is scipy's to nine digits, in the far tail too."""
    assert isclose(t_below(t, freedom), scipy.special.stdtr(freedom, t), rel_tol=1e-8, abs_tol=1e-300)


@given(chance=st.floats(0.5, 0.99999), freedom=st.integers(1, 10_000))
def test_quantiles_of_scipy(chance: float, freedom: int) -> None:
    """The quantile is scipy's to eight digits."""
    assert isclose(t_quantile(chance, freedom), scipy.special.stdtrit(freedom, chance), rel_tol=1e-7, abs_tol=1e-9)


@given(CHANGES)
def test_paired_t_of_scipy(changes: list[float]) -> None:
    """Where there is a spread and a loss, p is that of the one-sided test by scipy's distribution."""
    mean = sum(changes) / len(changes)
    if mean < -1e-6 and max(changes) - min(changes) > 1e-3:
        assert isclose(paired_t(changes), t_test(changes), rel_tol=1e-8, abs_tol=1e-12)


def test_paired_t_by_hand() -> None:
    """Changes -3, -2, -1 have mean -2 and s = 1: t = -2 sqrt(3), and for 2 degrees of freedom P(T <= t) is closed."""
    t = -2 * sqrt(3)
    assert paired_t([-3.0, -2.0, -1.0]) == pytest.approx((1 + t / sqrt(2 + t * t)) / 2)


@each_row(
    ("changes", "p"),
    [([], 1), ([-1.0], 1), ([0.0, 0.0], 1), ([0.1, -0.1], 1), ([0.5, 0.5], 1), ([-0.5] * 3, 0.125), ([-1e-12] * 9, 1)],
)
def test_without_spread_or_loss(changes: list[float], p: float) -> None:
    """No units, one unit, no loss: 1. All changes the same: the share of sign patterns with as low a sum."""
    assert paired_t(changes) == p


@given(CHANGES, st.floats(0.01, 100))
def test_scale_does_not_matter(changes: list[float], scale: float) -> None:
    """Points or per cent give the same p."""
    if abs(sum(changes)) > 1e-3:
        assert isclose(paired_t(changes), paired_t([scale * change for change in changes]), rel_tol=1e-6)


@given(CHANGES)
def test_the_other_side(changes: list[float]) -> None:
    """Swapping before and after gives 1, where p was below 1/2."""
    assert max(paired_t(changes), paired_t([-change for change in changes])) == 1


def test_ten_thousand_units() -> None:
    """Large numbers of units neither overflow nor lose the tail."""
    changes = [-1.0, 0.5, 0.4, 0.0] * 2_500
    assert paired_t(changes) == pytest.approx(t_test(changes), rel=1e-8)
