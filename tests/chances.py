"""Chances by another way than raggate's own: numpy and scipy, which are development dependencies alone.

Not `scipy.stats`, which takes a second to load in every process of the tests.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy


def multinomial(rows: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the chance of each row of counts, with the same sum each, under each row of shares: rows by shares."""
    ways = scipy.special.gammaln(rows[0].sum() + 1) - scipy.special.gammaln(rows + 1).sum(axis=1)
    return np.exp(ways[:, None] + scipy.special.xlogy(rows[:, None, :], shares[None, :, :]).sum(axis=2))


def t_test(changes: list[float]) -> float:
    t = np.mean(changes) * len(changes) ** 0.5 / np.std(changes, ddof=1)
    return float(scipy.special.stdtr(len(changes) - 1, t))


def lowest(convex: Callable[[float], float], low: float, high: float) -> float:
    """Return the place at which a convex function is lowest, by cutting off the higher third again and again."""
    while high - low > 1e-12:
        third = (high - low) / 3
        if convex(low + third) < convex(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2
