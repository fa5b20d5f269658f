"""Retry-After: seconds or a date, and whatever else a server may send."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st

from raggate.text.retry_after import retry_after
from tables import each_row

NOW = 3600.5


@each_row(
    ("value", "seconds"),
    [
        ("7", 7),
        (" 0 ", 0),
        ("Thu, 01 Jan 1970 01:00:10 GMT", 10),
        ("Thu, 01 Jan 1970 01:00:10 -0000", 10),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("1" * 13, None),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_seconds_or_a_date(value: str, seconds: float | None) -> None:
    """Seconds are as they stand, a date is how far it is away, rounded up, and all else is no header."""
    assert retry_after(value, NOW) == seconds


@given(
    st.text()
    | st.from_regex(
        r"[A-Z][a-z]{2}, [0-9]{1,3} [A-Z][a-z]{2} [0-9]{1,30} [0-9:]{1,9} [+-]?[0-9A-Z]{1,12}", fullmatch=True
    )
)
def test_any_text(value: str) -> None:
    """Whatever it holds, it is a finite number that is not negative, or nothing."""
    seconds = retry_after(value, NOW)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)
