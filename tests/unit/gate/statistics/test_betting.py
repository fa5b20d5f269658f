"""A sum of numbers that are drawn one by one: what is certain of it, and a bet that is fair in every order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import permutations
from math import fsum, inf, nan
from random import Random

import pytest
from hypothesis import given, strategies as st

from raggate.gate.statistics.betting import STAKES, Total
from tables import each_row

Numbers = Sequence[tuple[float, float]]
"""Each number with the largest that it could be."""

NUMBERS = st.lists(st.sampled_from([(-0.95, 0.05), (0.05, 0.05), (0.05, 1.05), (1.05, 1.05), (-0.45, 0.3)]), max_size=6)


def total_of(numbers: Numbers) -> Total:
    """Expect these numbers, of which none is known yet."""
    total = Total()
    for _, most in numbers:
        total.expect(most)
    return total


def drawn(numbers: Numbers) -> Iterable[Total]:
    """Draw them in this order, and give what is known after each."""
    total = total_of(numbers)
    for value, most in numbers:
        total.draw(value, most)
        yield total


def test_a_bet_by_hand() -> None:
    """Of -1 and 0, each at most 1: a stake of s gains s by the first, and on the second there is nothing to bet."""
    total = total_of([(-1.0, 1.0), (0.0, 1.0)])
    total.draw(-1.0, 1.0)
    # fair is 0, so the move is (0 - -1) / (1 - 0) = 1
    assert total.evidence == pytest.approx(fsum(1 + stake for stake in STAKES) / len(STAKES))
    before = total.evidence
    total.draw(0.0, 1.0)
    # the one that is left would have to be 1, which it can be at most: no stake could lose
    assert total.evidence == before
    assert (total.sum, total.highest, total.certain) == (-1.0, -1.0, True)


def test_a_second_bet_by_hand() -> None:
    """What was lost raises what the others would have to be: after -1 of 3, their mean has to be 1/2."""
    total = total_of([(-1.0, 1.0), (0.0, 1.0), (0.0, 1.0)])
    total.draw(-1.0, 1.0)
    total.draw(0.0, 1.0)
    # the second move is (1/2 - 0) / (1 - 1/2) = 1
    assert total.evidence == pytest.approx(fsum((1 + stake) ** 2 for stake in STAKES) / len(STAKES))
    assert not total.certain  # -1 and at most 1


@each_row(
    ("known", "left", "certain"),
    [
        ([], [1.0], False),
        ([-1.0], [], True),
        ([-1.0], [1.0], False),  # could come to 0
        ([-1.0], [0.5, 0.4], True),
        ([-1.0], [0.5, 0.5], False),
        ([-0.5, -0.6], [1.0], True),
    ],
)
def test_what_is_certain(known: list[float], left: list[float], certain: bool) -> None:
    """The sum is surely below 0 where the largest of all that is left does not bring it there."""
    total = total_of([*((value, 1.0) for value in known), *((0.0, most) for most in left)])
    for value in known:
        total.know(value, 1.0)
    assert total.certain is certain


@given(NUMBERS, st.integers(0, 6))
def test_what_is_certain_stays_so(numbers: Numbers, known: int) -> None:
    """Certain is nothing that any values of the rest undo: not the largest ones, nor the true ones."""
    total = total_of(numbers)
    for value, most in numbers[:known]:
        total.draw(value, most)
    best = fsum([*(value for value, _ in numbers[:known]), *(most for _, most in numbers[known:])])
    assert total.certain == (best < -1e-6)
    if total.certain:
        assert fsum(value for value, _ in numbers) < 0


@given(NUMBERS)
def test_the_bet_is_fair_at_best(numbers: Numbers) -> None:
    """Over all orders of numbers that come to 0 or more, the mean of what 1 becomes is at most 1, after any number."""
    if fsum(value for value, _ in numbers) < 0:
        return
    orders = [[total.evidence for total in drawn(order)] for order in permutations(numbers)]
    for after in zip(*orders, strict=True):
        assert fsum(after) / len(orders) <= 1 + 1e-9


@each_row("gained", [0, 20])
def test_false_alarms_of_the_hardest_case(gained: int) -> None:
    """200 questions that fall by exactly what is allowed: at most the share of all orders ever shows more."""
    lost = 10 + gained
    numbers = [(-0.95, 0.05)] * lost + [(1.05, 1.05)] * gained + [(0.05, 0.05)] * (180 - gained - lost)
    numbers += [(0.05, 1.05)] * 20
    rng, orders = Random(7), 400  # noqa: S311 - seeded
    shown = []
    for _ in range(orders):
        rng.shuffle(numbers)
        shown.append(max(inf if total.certain else total.evidence for total in drawn(numbers)))
    for alpha in (0.1, 0.02):
        alarms = sum(evidence >= 1 / alpha for evidence in shown)
        # three standard errors above the share
        assert alarms <= orders * alpha + 3 * (orders * alpha * (1 - alpha)) ** 0.5
        assert alarms > 0 or alpha < 0.1


def test_a_large_loss_is_seen_soon() -> None:
    """Of 1000 questions of which a third is lost, and a twentieth may be, 60 show it at 1 in 100."""
    numbers = [(-0.95, 0.05)] * 333 + [(0.05, 0.05)] * 500 + [(0.05, 1.05)] * 167
    Random(3).shuffle(numbers)  # noqa: S311 - seeded
    needed = next(count for count, total in enumerate(drawn(numbers), 1) if total.evidence >= 100)
    assert needed <= 60


@given(NUMBERS, st.sampled_from([nan, inf, 7.0]))
def test_what_is_no_number_shows_nothing(numbers: Numbers, strange: float) -> None:
    """A value that is no number, or larger than it can be, counts as the largest one."""
    totals = [total_of([*numbers, (0.0, 1.0)]) for _ in range(2)]
    for total, value in zip(totals, (strange, 1.0), strict=True):
        total.draw(value, 1.0)
    assert totals[0].sum == totals[1].sum == 1.0
    assert totals[0].evidence == totals[1].evidence <= 1.0


@each_row("most", [-0.1, nan, inf])
def test_a_bound_is_a_number(most: float) -> None:
    """A bound below 0, or none, is refused: the bet would not be fair."""
    with pytest.raises(ValueError, match="finite and at least 0"):
        Total().expect(most)


def test_stakes_are_shares() -> None:
    """No stake can lose everything, or more than that."""
    assert all(0 < Fraction(stake) < 1 for stake in STAKES)
