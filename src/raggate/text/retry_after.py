"""The value of a header Retry-After -> the seconds that a server asks to wait."""

from __future__ import annotations

import math
import re
from datetime import UTC
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,12}")


def retry_after(value: str, now: float) -> float | None:
    """Read seconds or a date; a date that is past is 0, and what is neither is None.

    Args:
        value: what the header holds, which may be anything; empty for no header.
        now: seconds since 1970.
    """
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
        moment = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return float(max(math.ceil(moment - now), 0))
