"""Timestamps as text -> days: which day it was, and how many lie between two. None for what is no timestamp. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime


def day(stamp: object) -> str | None:
    """Give the day of an ISO 8601 timestamp in UTC as YYYY-MM-DD, None when it is not one."""
    moment = _moment(stamp)
    return None if moment is None else moment.date().isoformat()


def days_between(earlier: object, later: object) -> float | None:
    """Count the days from one timestamp to another, negative when they stand the other way round."""
    first, second = _moment(earlier), _moment(later)
    return None if first is None or second is None else (second - first).total_seconds() / 86_400


def days_until(last: str, stamp: object) -> int | None:
    """Count the whole days from the day of a timestamp to a day as YYYY-MM-DD, negative when it is over."""
    today = day(stamp)
    try:
        return None if today is None else (date.fromisoformat(last) - date.fromisoformat(today)).days
    except ValueError:
        return None


def _moment(stamp: object) -> datetime | None:
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        # the runs of raggate are stamped in UTC; what does not say is taken for that
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
