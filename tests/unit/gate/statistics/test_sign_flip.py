"""The exact sign-flip test, beside the enumeration of every pattern."""

from __future__ import annotations

from itertools import product

from hypothesis import given, strategies as st

from raggate.gate.statistics.paired import MOST_MOVES, sign_flip

CHANGES = st.lists(st.integers(-12, 12).map(lambda twelfth: twelfth / 12), max_size=11)


def enumerated(changes: list[float]) -> float:
    """Return the share of all sign patterns, of unchanged units too, with a sum at most the observed one."""
    total = sum(changes)
    sums = [sum(sign * change for sign, change in zip(signs, changes, strict=True)) for signs in patterns(changes)]
    return sum(s <= total + 1e-9 for s in sums) / len(sums)


def patterns(changes: list[float]) -> list[tuple[int, ...]]:
    return list(product((-1, 1), repeat=len(changes)))


@given(CHANGES)
def test_brute_force(changes: list[float]) -> None:
    """P is the share of all patterns; units without a change do not matter."""
    expected = 1.0 if sum(changes) >= -1e-9 else enumerated(changes)
    assert sign_flip(changes) == expected


def test_the_most_units_that_are_enumerated() -> None:
    """24 units that changed are enumerated, 25 are not; units that did not change are free."""
    assert sign_flip([-0.5] * MOST_MOVES + [0.0] * 10_000) == 2.0**-MOST_MOVES
    assert sign_flip([-0.5] * (MOST_MOVES + 1)) is None
    assert sign_flip([0.5] * (MOST_MOVES + 1)) == 1


def test_floating_point_ties() -> None:
    """Three tenths less is a tie with minus one tenth and minus two tenths, though their floats differ."""
    assert sign_flip([-0.3, 0.1, 0.2, -0.1]) == enumerated([-3.0, 1.0, 2.0, -1.0])
