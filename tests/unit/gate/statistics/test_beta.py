"""The incomplete beta function, beside scipy, which is a development dependency alone."""

from __future__ import annotations

from math import isclose

import scipy
from hypothesis import given, strategies as st

from raggate.gate.statistics.beta import beta_quantile, incomplete_beta
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
def test_quantiles_of_scipy(a: float, b: float, chance: float) -> None:
    """The quantile is scipy's to seven digits."""
    assert isclose(beta_quantile(a, b, chance), scipy.special.betaincinv(a, b, chance), rel_tol=1e-7)
