"""The noun of a waiver as it stands."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class WaiverStatus(Struct, frozen=True, kw_only=True):
    """A waiver of a metric or a case, as it stands on the day of a run. `expires` is its last day, YYYY-MM-DD."""

    metric: str | None
    case: str | None
    mode: str | None
    owner: str
    reason: str
    expires: str
    state: Literal["active", "unused", "expired"]
    days_left: int | None
