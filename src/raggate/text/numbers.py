"""How numbers are rounded and written: half away from zero, on the shortest decimal that prints the float. Pure."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from math import ceil

SHOWN_DECIMALS = 4
"""Decimals in metrics.json and reports. Comparisons use unrounded values."""

STORED_DECIMALS = 12
"""Decimals in baselines: far below the 1e-9 by which a boundary must be crossed."""

_WHOLE = 2**53  # from here on a float has no decimals


def rounded(value: float, decimals: int = SHOWN_DECIMALS) -> float:
    """Round half away from zero, on the shortest decimal that prints the float (so 0.00005 rounds up)."""
    if not abs(value) < _WHOLE:
        return value
    step = Decimal(1).scaleb(-decimals)
    return float(Decimal(repr(value)).quantize(step, rounding=ROUND_HALF_UP)) + 0.0


def rounded_or_none(value: float | None, decimals: int = SHOWN_DECIMALS) -> float | None:
    """Round likewise what may have no value."""
    return None if value is None else rounded(value, decimals)


def fixed(value: float, decimals: int, *, sign: bool = False) -> str:
    """Write a number with so many decimals; with `sign`, also a plus."""
    number = rounded(value, decimals)
    return f"{number:+.{decimals}f}" if sign else f"{number:.{decimals}f}"


def written(value: float | None, *, sign: bool = False) -> str:
    """Write a measured value for people: 4 decimals; a dash where there is none."""
    return "–" if value is None else fixed(value, SHOWN_DECIMALS, sign=sign)


def percent(share: float) -> str:
    """Write a share, from 0 to 1, in whole percent."""
    return f"{rounded(share, 2):.0%}"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def setting(value: float) -> str:
    """Write a number that somebody set, such as a tolerance or seconds, as it was set: no digit less, no zero more."""
    return f"{value:.15g}"


def chance(p: float) -> str:
    """Write a p-value: three digits that count, and nothing below a thousandth."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3g}"


def points(share: float) -> str:
    """Write a share, from 0 to 1, as percentage points, rounded up: whole ones from 2 on, tenths below."""
    tenths = share * 1000 - 1e-9
    value = ceil(tenths / 10) if share >= 0.02 else ceil(tenths) / 10
    return f"{value:g} {'point' if value == 1 else 'points'}"
