"""Which test a comparison gets, and what groups do to it."""

from __future__ import annotations

from math import inf, isclose, nan, sqrt

import pytest
import scipy
from hypothesis import given, strategies as st

from raggate.gate.statistics.distributions import paired_t
from raggate.gate.statistics.mcnemar import unconditional
from raggate.gate.statistics.paired import (
    MCNEMAR,
    PAIRED_T,
    SIGN_FLIP_AND_T,
    UNTESTED,
    PairedTest,
    mean_interval,
    paired_test,
    sign_flip,
    tango,
    unit_changes,
)
from tables import each_row

CHANGES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 2)), max_size=50)
GRADED = [-0.5, -0.25, 0.1, 0.0, -0.3, 0.05, -0.7, 0.0, 0.2, -0.15, 0.0, -0.05]


def test_zero_and_one_are_counted() -> None:
    """Four lost, one gained of 40 questions scored 0 or 1: the exact test of counts."""
    changes = [-1.0] * 4 + [1.0] + [0.0] * 35
    assert paired_test(changes) == PairedTest(unconditional(40, 4, 1), MCNEMAR, 40)


def test_few_graded_units() -> None:
    """Below 30 units p is the larger of sign-flip and t; the values are those of a second implementation."""
    assert sign_flip(GRADED) == 0.0625
    assert paired_t(GRADED) == pytest.approx(0.052981616676215856, rel=1e-12)
    assert paired_test(GRADED) == PairedTest(0.0625, SIGN_FLIP_AND_T, 12)


def test_more_moves_than_are_enumerated() -> None:
    """With 25 to 29 units that all changed the t stands alone."""
    changes = [-0.5, -0.4, 0.3, 0.2, -0.1] * 5
    assert paired_test(changes) == PairedTest(paired_t(changes), PAIRED_T, 25)


def test_a_group_is_one_unit() -> None:
    """Four questions of one note that are lost together are one loss, and a question without a group is a unit."""
    changes = [-1.0] * 4 + [0.0] * 37
    groups = ["a"] * 4 + ["b"] * 4 + [None] * 33
    assert paired_test(changes).p == unconditional(41, 4, 0)
    assert paired_test(changes, groups) == PairedTest(unconditional(35, 1, 0), MCNEMAR, 35)


@given(CHANGES, st.integers(1, 8))
def test_units_keep_the_mean(changes: list[float], size: int) -> None:
    """The mean over units is the mean over questions, however they are grouped."""
    units = unit_changes(changes, [i // size if i % 3 else None for i in range(len(changes))])
    if changes:
        assert isclose(sum(units) / len(units), sum(changes) / len(changes), abs_tol=1e-12)


@given(CHANGES, st.data())
def test_a_loss_made_good_never_looks_worse(changes: list[float], data: st.DataObject) -> None:
    """Where all changes have one size, undoing one loss makes p no smaller."""
    signs = [float((change > 0.3) - (change < -0.3)) for change in changes]
    lost = [i for i, sign in enumerate(signs) if sign < 0]
    if lost:
        before = paired_test(signs).p
        signs[data.draw(st.sampled_from(lost))] = 0.0
        assert paired_test(signs).p >= before - 1e-9


@each_row("changes", [[], [0.0], [0.0] * 10_000, [1.0], [0.3, 0.7], [-1.0, 1.0], [-0.3, 0.5], [-0.3, 0.5] * 20])
def test_nothing_got_worse(changes: list[float]) -> None:
    """No questions, no changes, or no fewer gains than losses: p is 1, and no test is said to have given it."""
    assert paired_test(changes) == PairedTest(1.0, UNTESTED, len(changes))


@each_row("value", [nan, inf, -inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    """A change that is no finite number never becomes a p-value."""
    with pytest.raises(ValueError, match="finite number"):
        paired_test([0.0, value])


def test_a_group_for_every_change() -> None:
    """As many groups as changes are needed."""
    with pytest.raises(ValueError, match="shorter"):
        paired_test([0.0, 1.0], ["a"])


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
