"""Student's t and the paired t test, beside scipy, which is a development dependency alone."""

from __future__ import annotations

from math import isclose

import scipy
from hypothesis import given, strategies as st

from chances import t_test
from raggate.gate.statistics.student import paired_t, t_below, t_quantile
from tables import each_row

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
