"""The smallest drop that a comparison of so many questions finds, and the number of questions that finds a drop."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import sqrt
from statistics import NormalDist

from raggate.gate.statistics.paired import paired_test

_HALVINGS = 60
_LIKELY = NormalDist().inv_cdf(0.8)
_MOST_QUESTIONS = 100_000


def visible_drop(n: float, moving: float, alpha: float = 0.05) -> float:
    """Return the smallest true drop of a share that a one-sided paired test sees in 80% of cases; 1 if it sees none.

    Formula: the least D with n D^2 >= (z_alpha sqrt(psi) + z_power sqrt(psi - D^2))^2 and psi = moving + D.
    Source: Connor 1987, Biometrics 43, 207-211.
    """
    level, chance = NormalDist().inv_cdf(1.0 - alpha), _LIKELY

    def enough(drop: float) -> bool:
        moved = moving + drop
        return sqrt(n) * drop >= level * sqrt(moved) + chance * sqrt(max(0.0, moved - drop * drop))

    return _least(enough)


def visible_drop_of_groups(sizes: Sequence[int], moving: float, alpha: float = 0.05) -> float:
    """Return the smallest drop that a one-sided paired test of groups of questions sees, wherever it is.

    Means weigh groups by their questions, so that groups of unlike sizes are worth fewer that are alike:
    see `worth_of_groups`. Nor is a drop visible that can be the loss of the largest groups unseen. `moving` is the
    share of groups that move both ways without any drop.
    """
    worth = worth_of_groups(sizes)
    drop = visible_drop(worth, moving * worth / len(sizes), alpha)
    return drop if max(sizes) == min(sizes) else max(drop, _largest_lost(sizes, alpha))


def worth_of_groups(sizes: Sequence[int]) -> float:
    """Return how many groups of one size are worth as much as groups of these sizes, at least one.

    Formula: (sum of sizes)^2 / sum of squares. Source: Kish 1965, Survey Sampling, section 11.7.
    """
    return sum(sizes) ** 2 / sum(size * size for size in sizes)


def exceeding_drop(n: float, moving: float, tolerance: float) -> float:
    """Return the smallest true drop of a share that exceeds a tolerance in 80% of cases, of groups alike in size.

    Formula: the least D with D - tolerance >= z_power sqrt((moving + D - D^2) / n), the normal approximation.
    """
    return _least(lambda drop: drop - tolerance >= _LIKELY * sqrt((moving + drop - drop * drop) / n))


def questions_for(drop: float, seen: Callable[[int], float]) -> int | None:
    """Return the least number of questions with which a drop is seen, given the smallest that so many see.

    None if 100,000 do not see it.
    """
    number = bisect_left(range(1, _MOST_QUESTIONS), True, key=lambda n: seen(n) <= drop) + 1
    return number if number < _MOST_QUESTIONS else None


def _least(holds: Callable[[float], bool]) -> float:
    """Return the least number from 0 to 1 from which on something holds; 1 if it holds nowhere."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _largest_lost(sizes: Sequence[int], alpha: float) -> float:
    """Return the share of questions that is lost when the largest groups are, as many as it takes to be significant."""
    ordered = sorted(sizes, reverse=True)

    def seen(groups: int) -> bool:
        lost = [-float(size) for size in ordered[:groups]]
        return paired_test([*lost, *[0.0] * (len(sizes) - groups)]).p < alpha

    fewest = bisect_left(range(1, len(sizes)), True, key=seen) + 1
    return sum(ordered[:fewest]) / sum(sizes)
