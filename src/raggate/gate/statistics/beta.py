"""The regularised incomplete beta function, which the binomial and Student's t are made of."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, lgamma, log, log1p

_TINY = 1e-300
_MOST_TERMS = 10_000
_PRECISION = 1e-15
_MOST_STEPS = 100
_QUANTILE_PRECISION = 1e-9


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), the chance that a Beta(a, b) variable is at most x.

    Args:
        a: above 0.
        b: above 0.
        x: any number; outside 0..1 it counts as the nearer end.

    Source: the continued fraction of the NIST Digital Library of Mathematical Functions, 8.17.22, by Lentz's method.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        # the fraction converges fast on one side of the mean alone
        return 1.0 - _front(b, a, 1.0 - x) / _fraction(b, a, 1.0 - x)
    return _front(a, b, x) / _fraction(a, b, x)


def binomial_tail(least: int, n: int, p: float) -> float:
    """Return the chance that of n draws, each of chance p, at least so many come out."""
    return incomplete_beta(least, n - least + 1, p) if least > 0 else 1.0


def beta_quantile(a: float, b: float, chance: float) -> float:
    """Return the x with I_x(a, b) = chance.

    Args:
        a: from 1.
        b: from 1.
        chance: above 0 and below 1.
    """
    # log I is concave in log x, so that Newton's steps end below the root at once and then rise to it
    x = a / (a + b)
    for _ in range(_MOST_STEPS):
        at = incomplete_beta(a, b, x)
        step = log(chance / at) * at * (1.0 - x) / (a * _front(a, b, x))
        x *= exp(step)
        if abs(step) < _QUANTILE_PRECISION:
            break
    return x


def _front(a: float, b: float, x: float) -> float:
    """Return x^a (1-x)^b / (a B(a, b))."""
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Return 1 + d1/(1 + d2/(1 + ...)), by which `_front` is divided."""
    value = 1.0
    above, below = value, 0.0
    for coefficient in _coefficients(a, b, x):
        below = 1.0 / (1.0 + coefficient * below or _TINY)
        above = 1.0 + coefficient / above or _TINY
        step = above * below
        value *= step
        if abs(step - 1.0) < _PRECISION:
            break
    return value


def _coefficients(a: float, b: float, x: float) -> Iterator[float]:
    for m in range(_MOST_TERMS):
        if m:
            yield m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
