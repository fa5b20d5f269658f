"""Confidence intervals: counts or values per question in, an interval out, and the same one for the same seed.

The bootstrap draws as follows, and this is part of its interface. `random.Random(seed).random()` (the Mersenne Twister,
whose sequence Python promises to keep) is called n times per resample, resample after resample, and each draw picks
index `floor(random() * n)`. The ends are quantiles of the replicates with linear interpolation between order statistics
(the definition numpy and R call the default, type 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, sqrt
from random import Random
from statistics import NormalDist

from msgspec import Struct


class Interval(Struct, frozen=True):
    """A confidence interval, both ends included."""

    lower: float
    upper: float


LEVEL = 0.95


class Sampling(Struct, frozen=True, kw_only=True):
    """How an interval is drawn: its confidence level, between 0 and 1, how many resamples, at least 1, and a seed."""

    level: float = LEVEL
    resamples: int = 1000
    seed: int = 0


DEFAULT = Sampling()


def wilson(successes: float, n: int, *, level: float = LEVEL) -> Interval:
    """Return Wilson's score interval of a proportion, clamped to [0, 1]; `successes` may be a sum of values up to 1."""
    check_level(level)
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a proportion")
    quantile = NormalDist().inv_cdf(1.0 - (1.0 - level) / 2.0)
    square = quantile * quantile
    share = successes / n
    scale = 1.0 + square / n
    centre = (share + square / (2.0 * n)) / scale
    half = quantile / scale * sqrt(share * (1.0 - share) / n + square / (4.0 * n * n))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def bootstrap(
    n: int, statistic: Callable[[Sequence[int]], float | None], sampling: Sampling = DEFAULT
) -> Interval | None:
    """Return the percentile bootstrap interval of a statistic of the indices of n units; None where it is undefined.

    Resamples in which it is None do not count. Those of one unit are all that unit and say nothing of others.
    """
    check_level(sampling.level)
    if n < 1 or sampling.resamples < 1 or sampling.seed < 0:
        raise ValueError("a bootstrap needs a unit, a resample and a seed from 0")
    if n == 1:
        return None
    draw = Random(sampling.seed).random  # noqa: S311 - resampling, not cryptography
    replicates = []
    for _ in range(sampling.resamples):
        value = statistic([floor(draw() * n) for _ in range(n)])
        if value is not None:
            replicates.append(value)
    if not replicates:
        return None
    replicates.sort()
    tail = (1.0 - sampling.level) / 2.0
    return Interval(quantile(replicates, tail), quantile(replicates, 1.0 - tail))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of ascending values, interpolated linearly between its neighbours."""
    place = share * (len(ordered) - 1)
    below = min(max(floor(place), 0), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def check_level(level: float) -> None:
    """Refuse what is no confidence level."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level}")
