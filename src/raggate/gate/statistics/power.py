"""What a suite can see: the smallest drop that a comparison of so many questions finds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

from raggate.gate.statistics.paired import paired_test

_HALVINGS = 60


def visible_drop(n: float, moving: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest true drop of a share that a one-sided paired test sees with so much power.

    Formula: the least D with n D^2 >= (z_alpha sqrt(psi) + z_power sqrt(psi - D^2))^2 and psi = moving + D.
    Source: Connor 1987, Biometrics 43, 207-211.

    Returns:
        A number above 0 and at most 1, which is also what is given when no drop can be seen.
    """
    level, chance = NormalDist().inv_cdf(1.0 - alpha), NormalDist().inv_cdf(power)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        drop = (low + high) / 2.0
        moved = moving + drop
        needed = level * sqrt(moved) + chance * sqrt(max(0.0, moved - drop * drop))
        if sqrt(n) * drop >= needed:
            high = drop
        else:
            low = drop
    return high


def visible_drop_of_groups(sizes: Sequence[int], moving: float, alpha: float = 0.05) -> float:
    """Return the smallest drop that a one-sided paired test of groups of questions sees, wherever it is.

    Means weigh groups by their questions, so that groups of unlike sizes are worth fewer that are alike:
    (sum of sizes)^2 / sum of squares. Nor is a drop visible that can be the loss of the largest groups unseen.

    Source: Kish 1965, Survey Sampling, section 11.7, for how many they are worth.

    Args:
        sizes: how many questions each group has, at least one; a question that stands alone is a group of one.
        moving: the share of groups that move both ways without any drop, from 0 to 1.
        alpha: the level of the test, between 0 and 0.5.
    """
    worth = sum(sizes) ** 2 / sum(size * size for size in sizes)
    drop = visible_drop(worth, moving * worth / len(sizes), alpha)
    return drop if max(sizes) == min(sizes) else max(drop, _largest_lost(sizes, alpha))


def _largest_lost(sizes: Sequence[int], alpha: float) -> float:
    """Return the share of questions that is lost when the largest groups are, as many as it takes to be significant."""
    ordered = sorted(sizes, reverse=True)

    def seen(groups: int) -> bool:
        lost = [-float(size) for size in ordered[:groups]]
        return paired_test([*lost, *[0.0] * (len(sizes) - groups)]).p < alpha

    fewest = bisect_left(range(1, len(sizes)), True, key=seen) + 1
    return sum(ordered[:fewest]) / sum(sizes)
