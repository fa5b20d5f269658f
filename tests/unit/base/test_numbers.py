"""Numbers: one rounding rule, half away from zero, for whatever is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given, strategies as st

from raggate.base import numbers
from tables import each_row


@each_row(
    ("value", "decimals", "expected"),
    [
        pytest.param(0.12345, 4, 0.1235, id="half goes up, although the float lies below it"),
        pytest.param(-0.12345, 4, -0.1235, id="half goes away from zero"),
        pytest.param(2.5, 0, 3.0, id="not to even"),
        pytest.param(1.005, 2, 1.01, id="the decimal people see decides"),
        pytest.param(0.1 + 0.2, 12, 0.3, id="stored precision drops the noise of sums"),
        pytest.param(1e300, 4, 1e300, id="too large to have decimals"),
        pytest.param(math.inf, 4, math.inf, id="infinity stays"),
    ],
)
def test_rounded(value: float, decimals: int, expected: float) -> None:
    """Rounding is half away from zero on the shortest decimal of the float."""
    assert numbers.rounded(value, decimals) == expected


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([numbers.SHOWN_DECIMALS, 12]))
def test_rounded_is_near_and_stable(value: float, decimals: int) -> None:
    """Rounding moves a number by at most half a step, is symmetric, and a second time changes nothing."""
    once = numbers.rounded(value, decimals)
    distance = abs(Decimal(repr(once)) - Decimal(repr(value)))
    # beyond 2^53 / 10^decimals the floats themselves lie further apart than a step
    assert distance <= max(Decimal("0.5").scaleb(-decimals), Decimal(math.ulp(value)))
    assert numbers.rounded(once, decimals) == once
    assert numbers.rounded(-value, decimals) == -once


@given(st.integers(-(10**12), 10**12), st.integers(0, 14), st.sampled_from([0, 4, 6, 12]))
def test_a_half_is_found_on_the_decimal(digits: int, places: int, decimals: int) -> None:
    """Numbers that end in 5 are rounded as decimal arithmetic does, however the float lies beside the half."""
    value = float(f"{digits}5e-{places}")
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    assert numbers.rounded(value, decimals) == float(exact)


@each_row(
    ("value", "sign", "beside", "expected"),
    [
        (0.03125, False, None, "0.0313"),
        (-0.03125, True, None, "-0.0313"),
        (0.00005, True, None, "+0.0001"),
        (0.0, True, None, "+0.0000"),
        (None, False, None, "–"),
        (0.8, False, 0.75, "0.8000"),
        (0.8, False, 0.79997, "0.80000"),
        (0.8, False, 0.8 + 1e-12, "0.8000"),
    ],
)
def test_written(value: float | None, beside: float | None, expected: str, *, sign: bool) -> None:
    """A value has 4 decimals, half away from zero, or as many more as tell it from one beside it; a dash for none."""
    assert numbers.written(value, sign=sign, beside=beside) == expected


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=5), margin=st.sampled_from((1e-9, 1e-5)))
def test_decimals_apart(values: list[float], margin: float) -> None:
    """Two values further apart than the margin never look the same, and nothing has less than 4 decimals."""
    decimals = numbers.decimals_apart(values, margin)
    assert 4 <= decimals <= 12
    assert all(
        numbers.fixed(one, decimals) != numbers.fixed(other, decimals)
        for one in values
        for other in values
        if abs(one - other) > margin
    )


@each_row(
    ("write", "value", "expected"),
    [
        # a share is rounded as it is written down, not as the float a hundred times as large would be
        *(
            (numbers.percent, *row)
            for row in ((0.285, "29%"), (0.005, "1%"), (0.125, "13%"), (1, "100%"), (0.0049, "0%"))
        ),
        # what somebody set is told with every digit of it, and no other
        *((numbers.setting, *row) for row in ((0.03, "0.03"), (5.0, "5"), (0.1234567, "0.1234567"), (1e-05, "1e-05"))),
        # a p-value has three digits that count; below a thousandth it makes no difference
        *((numbers.chance, *row) for row in ((0.04976, "p = 0.0498"), (0.001, "p = 0.001"), (0.00099, "p < 0.001"))),
    ],
)
def test_other_numbers(write: Callable[[float], str], value: float, expected: str) -> None:
    """Shares, settings and p-values are written each by its own rule."""
    assert write(value) == expected


@each_row(
    ("share", "expected"),
    [
        (0.0605, "7 points"),
        (0.06, "6 points"),
        (0.02, "2 points"),
        (0.0199, "2 points"),
        (0.0151, "1.6 points"),
        (0.01, "1 point"),
        (0.0005, "0.1 points"),
        (1.0, "100 points"),
        (0.07, "7 points"),
    ],
)
def test_points(share: float, expected: str) -> None:
    """A share is written in points, rounded up: what is said to be seen is never less than what is."""
    assert numbers.points(share) == expected
