"""Intervals: Wilson in closed form, and a bootstrap that is the same wherever it runs."""

from __future__ import annotations

from math import isclose, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given, strategies as st

from raggate.scoring.intervals import Interval, Sampling, bootstrap, quantile, wilson
from tables import each_row


@each_row(("successes", "n", "lower", "upper"), [(8, 10, 0.490162, 0.943318), (0, 5, 0, 0.434482), (5, 5, 0.565518, 1)])
def test_wilson_reference(successes: int, n: int, lower: float, upper: float) -> None:
    """The reference's numbers come out to all their digits, clamped at 0 and 1."""
    interval = wilson(successes, n)
    assert (round(interval.lower, 6), round(interval.upper, 6)) == (lower, upper)


@given(n=st.integers(1, 10_000), share=st.floats(0, 1), level=st.floats(0.5, 0.999))
def test_wilson_closed_form(n: int, share: float, level: float) -> None:
    """The ends solve (p - x)^2 = z^2 x (1 - x) / n, the equation that defines the interval, to 1e-12."""
    successes = round(share * n)
    p, z = successes / n, NormalDist().inv_cdf(1 - (1 - level) / 2)
    # as the roots of a x^2 + b x + c
    a, b, c = 1 + z * z / n, -(2 * p + z * z / n), p * p
    root = sqrt(max(b * b - 4 * a * c, 0.0))
    interval = wilson(successes, n, level=level)
    # the difference of two near numbers loses digits in the quadratic formula, so its stable form gives the lower end
    upper = (-b + root) / (2 * a)
    lower = 2 * c / (-b + root)
    assert isclose(interval.lower, max(0.0, lower), abs_tol=1e-12)
    assert isclose(interval.upper, min(1.0, upper), abs_tol=1e-12)
    assert 0 <= interval.lower <= p + 1e-12
    assert p - 1e-12 <= interval.upper <= 1


def test_bootstrap_undefined() -> None:
    """Undefined resamples are left out; when all are, there is no interval."""
    assert bootstrap(3, lambda _: None) is None
    kept = bootstrap(2, lambda drawn: None if sum(drawn) == 1 else float(sum(drawn)), Sampling(resamples=50))
    assert kept == Interval(0.0, 2.0)


@each_row(("share", "expected"), [(0, 1), (0.25, 1.75), (0.5, 2.5), (1, 4)])
def test_quantile(share: float, expected: float) -> None:
    """Quantiles lie between their neighbours in proportion (type 7)."""
    assert quantile([1, 2, 3, 4], share) == pytest.approx(expected)
