"""What time it is, as files hold it."""

from __future__ import annotations

from datetime import UTC, datetime

from raggate.text.dates import stamp


def now() -> str:
    """Return the time in UTC: ISO 8601, to the second."""
    return stamp(datetime.now(UTC))
