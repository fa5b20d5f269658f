"""Timestamps as text: read, written, and the days between two. None for what is no timestamp. Pure."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,12}")


def day(stamp: object) -> str | None:
    """Return the day of an ISO 8601 timestamp in UTC as YYYY-MM-DD, None when it is not one."""
    time = moment(stamp)
    return None if time is None else time.date().isoformat()


def days_between(earlier: object, later: object) -> float | None:
    """Count the days from one timestamp to another, negative when they stand the other way round."""
    first, second = moment(earlier), moment(later)
    return None if first is None or second is None else (second - first).total_seconds() / 86_400


def days_until(last: str, stamp: object) -> int | None:
    """Count the whole days from the day of a timestamp to a day as YYYY-MM-DD, negative when it is over."""
    today = day(stamp)
    try:
        return None if today is None else (date.fromisoformat(last) - date.fromisoformat(today)).days
    except ValueError:
        return None


def moment(stamp: object) -> datetime | None:
    """Return the time of an ISO 8601 timestamp in UTC, None when it is not one. What names no zone is taken for UTC."""
    if not isinstance(stamp, str):
        return None
    try:
        read = datetime.fromisoformat(stamp)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def stamp(time: datetime) -> str:
    """Write a time in UTC as files hold it: ISO 8601, to the second."""
    # not by strftime, which writes the year 1 as `1`
    return f"{time.replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def now() -> str:
    """Return the time in UTC: ISO 8601, to the second."""
    return stamp(datetime.now(UTC))


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
