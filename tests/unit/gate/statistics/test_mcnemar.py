"""The exact unconditional McNemar test: published values, a brute force that shares none of its steps, and laws."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy
from hypothesis import given, strategies as st

from chances import multinomial
from raggate.gate.statistics.mcnemar import GAMMA, fewest_losses, unconditional
from tables import each_row


def counts(most: int = 60) -> st.SearchStrategy[tuple[int, int, int]]:
    return st.integers(1, most).flatmap(
        lambda n: st.integers(0, n).flatmap(
            lambda lost: st.integers(0, n - lost).map(lambda gained: (n, lost, gained)),
        )
    )


@cache
def tables(n: int) -> tuple[np.ndarray, np.ndarray]:
    lost, gained = np.meshgrid(np.arange(n + 1), np.arange(n + 1))
    possible = lost + gained <= n
    return lost[possible], gained[possible]


def brute_force(n: int, lost: int, gained: int, points: int = 600) -> float:
    """Add up the chance of every table as extreme, at many shares within the Clopper-Pearson interval of scipy."""
    moved = lost + gained
    low = scipy.special.betaincinv(moved, n - moved + 1, GAMMA / 2)
    high = scipy.special.betaincinv(moved + 1, n - moved, 1 - GAMMA / 2) if moved < n else 1.0
    losses, gains = tables(n)
    ahead = (losses > gains) & ((losses - gains) ** 2 * moved >= (lost - gained) ** 2 * (losses + gains))
    rows = np.stack([losses[ahead], gains[ahead], n - losses[ahead] - gains[ahead]], axis=1)
    share = np.linspace(low, high, points)
    chances = multinomial(rows, np.stack([share / 2, share / 2, 1 - share], axis=1)).sum(axis=0)
    return float(max(chances)) + GAMMA


@each_row(
    ("n", "lost", "gained", "two_sided"),
    [
        # complete response before and after therapy: Cavo 2012, as in Fagerland, Lydersen & Laake 2017, chapter 8
        (161, 16, 6, 0.034053),
        (14, 1, 0, 0.542071),
    ],
)
def test_published_values(n: int, lost: int, gained: int, two_sided: float) -> None:
    """The values that the authors' own package contingencytables prints come out; both tails are equal."""
    assert unconditional(n, lost, gained) == pytest.approx((two_sided - GAMMA) / 2 + GAMMA, abs=1e-6)


@given(counts(most=40))
def test_brute_force(case: tuple[int, int, int]) -> None:
    """For any table p is the largest chance of one as extreme, as adding up all tables gives it."""
    n, lost, gained = case
    if lost > gained:
        slow = brute_force(n, lost, gained)
        fast = unconditional(n, lost, gained)
        # the grid of the brute force can miss the top by a little, and never exceeds it
        assert slow - 1e-7 <= fast <= slow + 2e-4


@each_row(("n", "lost", "gained"), [(13, 5, 0)])
def test_two_tops(n: int, lost: int, gained: int) -> None:
    """Where the chance has two tops that are nearly alike, p is that of the higher one."""
    slow = brute_force(n, lost, gained)
    assert slow - 1e-7 <= unconditional(n, lost, gained) <= slow + 1e-6


def test_fewest_losses_ends_below_gamma() -> None:
    """A level that no p-value can be below has no number of losses, and the answer does not take n tests."""
    assert fewest_losses(10_000, GAMMA / 2) is None
