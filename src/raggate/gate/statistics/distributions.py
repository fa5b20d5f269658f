"""The incomplete beta function, and what is made of it: the binomial, Student's t and the paired t test.

Changes are after minus before, so that positive is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import exp, fsum, lgamma, log, log1p, pi, sqrt
from operator import mul
from statistics import NormalDist

_TINY = 1e-300
_MOST_TERMS = 10_000
_PRECISION = 1e-15
_MOST_STEPS = 100
_QUANTILE_PRECISION = 1e-9
_T_PRECISION = 1e-12
_MOST_T_STEPS = 200

NEGLIGIBLE = 1e-9
"""A change of this size or less is none: two means of the same values may differ by as much."""


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), the chance that a Beta(a, b) variable is at most x.

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
    """Return the x with I_x(a, b) = chance."""
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


def t_below(t: float, freedom: float) -> float:
    """Return P(T <= t) of Student's t with so many degrees of freedom (above 0)."""
    if t > 0.0:
        return 1.0 - t_below(-t, freedom)
    square = t * t
    if square < 1.0:
        return (1.0 - incomplete_beta(0.5, freedom / 2.0, square / (freedom + square))) / 2.0
    return incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square)) / 2.0


@lru_cache(maxsize=1024)
def t_quantile(chance: float, freedom: float) -> float:
    """Return the t with P(T <= t) = chance."""
    # from the normal quantile, which is smaller, Newton's steps stay below the root: the distribution is concave there
    t = NormalDist().inv_cdf(chance)
    for _ in range(_MOST_T_STEPS):
        step = (t_below(-t, freedom) - (1.0 - chance)) / _density(t, freedom)
        t += step
        if abs(step) <= _T_PRECISION * t:
            break
    return t


def paired_t(changes: Sequence[float]) -> float:
    """Return the one-sided p-value of "the mean change is not negative", of one number for each independent unit.

    Formula: P(T <= mean / (s / sqrt(n))), T of Student with n - 1 degrees of freedom. It is 1 where the mean is not
    negative, or there are fewer than two units. Where all changes are the same there is no spread to measure by: then
    2^-n, the share of sign patterns with as low a sum.
    """
    n = len(changes)
    if n < 2:
        return 1.0
    mean, error = mean_and_error(changes)
    if mean >= -NEGLIGIBLE:
        return 1.0
    if error <= NEGLIGIBLE * sqrt(1.0 / n):
        return 0.5**n
    return t_below(mean / error, n - 1)


def mean_and_error(changes: Sequence[float]) -> tuple[float, float]:
    """Return the mean of at least two numbers and its standard error."""
    n = len(changes)
    mean = fsum(changes) / n
    apart = [change - mean for change in changes]
    variance = fsum(map(mul, apart, apart)) / (n - 1)
    return mean, sqrt(variance / n)


def _density(t: float, freedom: float) -> float:
    half = (freedom + 1.0) / 2.0
    return exp(lgamma(half) - lgamma(freedom / 2.0) - log(freedom * pi) / 2.0 - half * log1p(t * t / freedom))
