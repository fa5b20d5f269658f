"""Confidence intervals of a mean change, after minus before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

from raggate.gate.statistics.distributions import mean_and_error, t_quantile
from raggate.models.scorecard import EPSILON

_HALVINGS = 60
_UPPER = 0.975


@lru_cache(maxsize=1024)  # the same counts stand in many slices and metrics
def tango(n: int, lost: int, gained: int) -> tuple[float, float]:
    """Return Tango's 95% score interval of the change of a share, where each question is 0 or 1.

    Formula: the changes D with (gained - lost - nD)^2 <= z^2 n (2q + D(1 - D)), where q is the most likely share of
    questions lost if the true change were D.
    Source: Tango 1998, Statistics in Medicine 17, 891-908. It holds where nothing moved, too.
    """
    z = NormalDist().inv_cdf(_UPPER)
    change = (gained - lost) / n

    def distance(at: float) -> float:
        b = (2 * n - gained + lost) * at - lost - gained
        root = sqrt(max(0.0, b * b + 8.0 * n * lost * at * (1.0 - at)))
        share = max(0.0, (root - b) / (4.0 * n))
        spread = n * (2.0 * share + at * (1.0 - at))
        return n * abs(change - at) - z * sqrt(max(0.0, spread))

    return _edge(distance, change, -1.0), _edge(distance, change, 1.0)


def mean_interval(changes: Sequence[float], most: float) -> tuple[float, float] | None:
    """Return the 95% t interval of a mean change, at most as wide as the scale; None with fewer than two units."""
    if len(changes) < 2:
        return None
    mean, error = mean_and_error(changes)
    half = t_quantile(_UPPER, len(changes) - 1) * error
    size = max(map(abs, changes))
    if 2.0 * half <= EPSILON:
        # all moved alike, which is no certainty that all others would
        ends = tango(len(changes), *((len(changes), 0) if mean < 0 else (0, len(changes))))
        return size * ends[0], size * ends[1]
    most = max(most, size)
    return max(mean - half, -most), min(mean + half, most)


def _edge(distance: Callable[[float], float], inside: float, outside: float) -> float:
    """Return where a distance that is negative inside turns positive, the outer end where it does not."""
    if distance(outside) <= 0.0:
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2.0
        if distance(middle) <= 0.0:
            inside = middle
        else:
            outside = middle
    return inside
