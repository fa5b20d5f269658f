"""What a suite can see: the smallest drop that a comparison of so many questions finds."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

_HALVINGS = 60


def visible_drop(n: int, moving: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Give the smallest true drop of a share that a one-sided paired test sees with so much power.

    Formula: the least D with n D^2 >= (z_alpha sqrt(psi) + z_power sqrt(psi - D^2))^2 and psi = moving + D.
    Source: Connor 1987, Biometrics 43, 207-211.

    Args:
        n: how many questions (or groups of them) are asked, from 0.
        moving: the share of questions that move both ways without any drop, from 0 to 1.
        alpha: the level of the test, between 0 and 0.5.
        power: the chance to see the drop, from 0.5 and below 1.

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
