"""Intervals of a change: Tango's against published tables and its equation, the t against scipy."""

from __future__ import annotations

from math import sqrt

import pytest
import scipy
from hypothesis import given, strategies as st

from raggate.gate.statistics.intervals import mean_interval, tango
from tables import each_row


@each_row(
    ("n", "lost", "gained", "low", "high"),
    [
        # complete response before and after therapy, Cavo 2012: the authors' package contingencytables prints
        # -0.1240 to -0.0054 for before minus after
        (161, 6, 16, 0.0054, 0.1240),
        # airway hyper-responsiveness, Bentur 2009, in Fagerland, Lydersen & Laake 2014: -0.517 to -0.026
        (21, 7, 1, -0.5172, -0.0260),
    ],
)
def test_published_values(n: int, lost: int, gained: int, low: float, high: float) -> None:
    """The intervals of Tango's method in the literature come out."""
    assert [round(end, 4) for end in tango(n, lost, gained)] == [low, high]


@each_row("n", [1, 10, 100, 10_000])
def test_nothing_moved(n: int) -> None:
    """Where nothing moved the ends are z^2 / (n + z^2) both ways: n D^2 = z^2 D (1 - D), as no question is lost."""
    square = scipy.special.ndtri(0.975) ** 2
    end = square / (n + square)
    assert tango(n, 0, 0) == pytest.approx((-end, end))


def test_no_mean_falls_further_than_its_scale() -> None:
    """Of a few questions t reaches beyond what any mean can fall by; the interval ends there, or at what was seen."""
    wide = mean_interval([-1.0, -0.5, 0.0], 5.0)
    assert wide[0] < -1.0
    assert mean_interval([-1.0, -0.5, 0.0], 1.0) == (-1.0, wide[1])
    assert mean_interval([-1.25, -0.5, 0.0], 1.0)[0] == -1.25


def test_what_moved_alike_everywhere_is_not_certain() -> None:
    """Where every question moved by the same amount t has no spread: the counts say how far the mean may be from it."""
    low, high = tango(3, 3, 0)
    assert mean_interval([-0.25] * 3, 1.0) == (0.25 * low, 0.25 * high)
    assert mean_interval([-0.25], 1.0) is None


@given(st.lists(st.integers(-8, 8).map(lambda eighths: eighths / 8), min_size=2, max_size=50))
def test_t_interval_of_scipy(changes: list[float]) -> None:
    """The interval is scipy's, where the changes have a spread."""
    n = len(changes)
    mean = sum(changes) / n
    error = sqrt(sum((change - mean) ** 2 for change in changes) / (n - 1) / n)
    half = scipy.special.stdtrit(n - 1, 0.975) * error
    if error:
        assert mean_interval(changes, 99.0) == pytest.approx((mean - half, mean + half), abs=1e-7)
