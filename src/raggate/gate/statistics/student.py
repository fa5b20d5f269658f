"""Student's t: its distribution, and the paired test. Changes are after minus before, so that positive is better."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, fsum, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

from raggate.gate.statistics.beta import incomplete_beta

NEGLIGIBLE = 1e-9
"""A change of this size or less is none: two means of the same values may differ by as much."""

_PRECISION = 1e-12
_MOST_STEPS = 200


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
    """Return the t with P(T <= t) = chance.

    Args:
        chance: from 0.5 and below 1.
        freedom: the degrees of freedom, from 1.
    """
    # from the normal quantile, which is smaller, Newton's steps stay below the root: the distribution is concave there
    t = NormalDist().inv_cdf(chance)
    for _ in range(_MOST_STEPS):
        step = (t_below(-t, freedom) - (1.0 - chance)) / _density(t, freedom)
        t += step
        if abs(step) <= _PRECISION * t:
            break
    return t


def paired_t(changes: Sequence[float]) -> float:
    """Return the one-sided p-value of "the mean change is not negative".

    Formula: P(T <= mean / (s / sqrt(n))), T of Student with n - 1 degrees of freedom.

    Args:
        changes: one number for each independent unit.

    Returns:
        A number from 0 to 1; 1 where the mean is not negative, or there are fewer than two units. Where all changes
        are the same there is no spread to measure by: then 2^-n, the share of sign patterns with as low a sum.
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
    variance = fsum((change - mean) ** 2 for change in changes) / (n - 1)
    return mean, sqrt(variance / n)


def _density(t: float, freedom: float) -> float:
    half = (freedom + 1.0) / 2.0
    return exp(lgamma(half) - lgamma(freedom / 2.0) - log(freedom * pi) / 2.0 - half * log1p(t * t / freedom))
