"""The incomplete beta function, Student's t and the paired t test, beside scipy, a development dependency alone."""

from __future__ import annotations

from math import isclose

import scipy
from hypothesis import given, strategies as st

from chances import t_test
from raggate.gate.statistics.distributions import beta_quantile, incomplete_beta, paired_t, t_below, t_quantile
from tables import each_row


@each_row(
    ("a", "b", "x", "value"),
    [
        (1, 1, 0.3, 0.3),  # uniform
        (2, 1, 0.3, 0.09),  # the larger of two uniforms
        (1, 2, 0.3, 0.51),  # the smaller of two: 1 - 0.7^2
        (2, 2, 0.5, 0.5),
        (2, 2, 0.25, 0.15625),  # 3x^2 - 2x^3
        (5, 7, 0, 0),
        (5, 7, 1, 1),
        (5, 7, -1, 0),
        (5, 7, 2, 1),
    ],
)
def test_closed_forms(a: float, b: float, x: float, value: float) -> None:
    """Small whole parameters have polynomials, and what lies outside 0..1 counts as an end."""
    assert isclose(incomplete_beta(a, b, x), value, abs_tol=1e-14)


@given(a=st.floats(0.5, 5_000), b=st.floats(0.5, 5_000), x=st.floats(0, 1))
def test_values_of_scipy(a: float, b: float, x: float) -> None:
    """The value is scipy's to ten digits, for every parameter that 10,000 questions lead to."""
    assert isclose(incomplete_beta(a, b, x), scipy.special.betainc(a, b, x), rel_tol=1e-9, abs_tol=1e-10)


@given(a=st.floats(1, 10_000), b=st.floats(1, 10_000), chance=st.floats(1e-6, 0.9))
def test_beta_quantiles_of_scipy(a: float, b: float, chance: float) -> None:
    """The quantile is scipy's to seven digits."""
    assert isclose(beta_quantile(a, b, chance), scipy.special.betaincinv(a, b, chance), rel_tol=1e-7)


CHANGES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=2, max_size=60)


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


@each_row(
    ("changes", "p"),
    [([], 1), ([-1.0], 1), ([0.0, 0.0], 1), ([0.1, -0.1], 1), ([0.5, 0.5], 1), ([-0.5] * 3, 0.125), ([-1e-12] * 9, 1)],
)
def test_without_spread_or_loss(changes: list[float], p: float) -> None:
    """No units, one unit, no loss: 1. All changes the same: the share of sign patterns with as low a sum."""
    assert paired_t(changes) == p
