"""The exact sign-flip test: what share of all ways to swap before and after has as low a sum."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import fsum

from raggate.gate.statistics.student import NEGLIGIBLE

MOST_MOVES = 24
"""Changes that are enumerated: two halves of 2^12 sums each."""


def sign_flip(changes: Sequence[float]) -> float | None:
    """Give the exact one-sided p-value of "before and after could be swapped for any unit".

    Formula: the share of the 2^k sign patterns of the k changes that are not 0 whose sum is at most the observed one.

    Args:
        changes: after minus before, one number for each independent unit.

    Returns:
        A number from 2^-k to 1, 1 where the sum is not negative; None when more than 24 units changed.
    """
    sizes = [abs(change) for change in changes if abs(change) > NEGLIGIBLE]
    total = fsum(changes)
    if total >= -NEGLIGIBLE:
        return 1.0
    if len(sizes) > MOST_MOVES:
        return None
    half = len(sizes) // 2
    ordered = sorted(_signed_sums(sizes[half:]))
    patterns = sum(bisect_right(ordered, total - part + NEGLIGIBLE) for part in _signed_sums(sizes[:half]))
    return float(patterns / 2 ** len(sizes))


def _signed_sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [signed for part in sums for signed in (part - size, part + size)]
    return sums
