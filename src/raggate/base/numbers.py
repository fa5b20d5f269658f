"""How numbers are read and written, and rounded: half away from zero, on the shortest decimal of the float. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from hashlib import sha256
from itertools import combinations
from math import ceil, isfinite
from sys import float_info

SHOWN_DECIMALS = 4
"""Decimals in metrics.json and reports. Comparisons use unrounded values."""

STORED_DECIMALS = 12
"""Decimals in baselines: far below the 1e-9 by which a boundary must be crossed."""

_WHOLE = 2**53  # from here on a float has no decimals
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def number_in(value: object) -> float | None:
    """Read a number, or a text that is one, as APIs write exact decimals; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        return None
    number = float(value)
    return number if isfinite(number) else None


# the same few means and scores stand in many rows; typed, as a whole number stays one from where there are no decimals
@lru_cache(maxsize=4096, typed=True)
def rounded(value: float, decimals: int = SHOWN_DECIMALS) -> float:
    """Round half away from zero, on the shortest decimal that prints the float (so 0.00005 rounds up)."""
    if not abs(value) < _WHOLE:
        return value
    if value == (whole := int(value)):
        # most values are 0 or 1
        return float(whole)
    near, scale = round(value, decimals), 10.0**decimals
    # only near a half does it matter which decimal prints the float
    if abs(abs(value - near) * scale - 0.5) > 1e-6 + abs(value) * scale * float_info.epsilon:
        return near + 0.0
    return float(Decimal(repr(value)).quantize(_step(decimals), rounding=ROUND_HALF_UP)) + 0.0


@cache
def _step(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)


def rounded_or_none(value: float | None, decimals: int = SHOWN_DECIMALS) -> float | None:
    """Round likewise what may have no value."""
    return None if value is None else rounded(value, decimals)


def fixed(value: float, decimals: int, *, sign: bool = False, grouped: bool = False) -> str:
    """Write a number with so many decimals; with `sign`, also a plus; with `grouped`, a comma after the thousands."""
    number = rounded(value, decimals)
    if grouped:
        return f"{number:+,.{decimals}f}" if sign else f"{number:,.{decimals}f}"
    return f"{number:+.{decimals}f}" if sign else f"{number:.{decimals}f}"


def written(value: float | None, *, sign: bool = False, beside: float | None = None) -> str:
    """Write a measured value for people: 4 decimals, more where that tells it from one beside it; a dash for none."""
    if value is None:
        return "–"
    return fixed(value, SHOWN_DECIMALS if beside is None else decimals_apart((value, beside)), sign=sign)


def decimals_apart(values: Sequence[float], margin: float = 1e-9) -> int:
    """The fewest decimals, from 4 to 12, with which values that are further apart than a margin look different."""
    pairs = [(value, other) for value, other in combinations(values, 2) if abs(value - other) > margin]
    enough = (
        decimals
        for decimals in range(SHOWN_DECIMALS, STORED_DECIMALS)
        if all(rounded(value, decimals) != rounded(other, decimals) for value, other in pairs)
    )
    return next(enough, STORED_DECIMALS)


def percent(share: float) -> str:
    """Write a share, from 0 to 1, in whole percent."""
    return f"{rounded(share, 2):.0%}"


def counted(number: int, noun: str, several: str = "") -> str:
    """Write a number with its noun; `several` is the plural of one that an s does not make."""
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def often(number: int) -> str:
    """Write how often something was done."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def dollars(amount: float) -> str:
    """Write what something cost, to a millionth of a dollar."""
    return f"{setting(rounded(amount, 6))} dollars"


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


def lot(*names: str) -> bytes:
    """Return what is sorted by. It depends on the names alone, so that one more to draw from changes little."""
    return sha256("|".join(names).encode("utf-8", "surrogatepass")).digest()
