"""One failed request to GitHub -> whether to send it again and after how many seconds, by GitHub's own client's table.

It differs from that client in being more patient only: a Retry-After header counts beside every status that is sent
again, and it makes a 403 or 429 a rate limit whatever the body says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

from raggate.text.jsonio import loads

MOST_RETRIES = 3
"""How often a request is sent again, whatever the reasons were."""

FALLBACK_S = 60.0
"""Seconds to wait for a rate limit that does not say how long."""

_FINAL = frozenset((400, 401, 403, 404, 410, 422, 451))
_LIMITED = frozenset((403, 429))
_SECONDARY = re.compile(r"\bsecondary rate\b|\babuse detection\b", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A request that failed.

    Args:
        method: of HTTP, in capitals.
        status: of the answer; None when there was none.
        headers: of the answer; names in any case.
        body: of the answer, or its beginning. Untrusted.
        number: 1 for the first time the request was sent.
        now: seconds since 1970.
        sent: whether the request may have reached GitHub; matters without a status only.
        repeatable: whether a POST may be sent again although it may have been done already.
    """

    method: str
    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    number: int
    now: float
    sent: bool = True
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Send it again after so many seconds. `asked` tells whether GitHub said so; the reason follows "because of"."""

    seconds: float
    reason: str
    asked: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not send it again. `wait` is what would have been waited for, had there been another try."""

    wait: Wait | None = None


def decide(attempt: Attempt) -> Wait | GiveUp:
    """Decide what follows a failed request: another try, or none."""
    wait = _limit(attempt)
    if wait is None:
        if attempt.status in _FINAL or (attempt.status is not None and attempt.status < 400):
            return GiveUp()
        if ambiguous(attempt) and attempt.method == "POST" and not attempt.repeatable:
            return GiveUp()
        wait = _pause(attempt)
    return wait if attempt.number <= MOST_RETRIES else GiveUp(wait)


def ambiguous(attempt: Attempt) -> bool:
    """Tell whether GitHub may have done what was asked although the request failed."""
    if attempt.status is None:
        return attempt.sent
    return attempt.status >= 500


def _limit(attempt: Attempt) -> Wait | None:
    if attempt.status not in _LIMITED:
        return None
    headers = _lower(attempt.headers)
    asked = _retry_after(headers, attempt.now)
    if _SECONDARY.search(_message(attempt.body)):
        return Wait(asked or FALLBACK_S, "a secondary rate limit", asked=True)
    if headers.get("x-ratelimit-remaining", "").strip() == "0":
        reset = headers.get("x-ratelimit-reset", "").strip()
        if not _NUMBER.fullmatch(reset):
            return Wait(asked or FALLBACK_S, "the rate limit", asked=True)
        # GitHub counts in whole seconds: one more, so that it is over for certain
        return Wait(float(max(math.ceil(int(reset) - attempt.now) + 1, 0)), "the rate limit", asked=True)
    return Wait(asked, "a rate limit", asked=True) if asked else None


def _pause(attempt: Attempt) -> Wait:
    seconds = float(attempt.number**2)
    asked = _retry_after(_lower(attempt.headers), attempt.now) or 0.0
    reason = "a failed connection" if attempt.status is None else f"status {attempt.status}"
    return Wait(max(seconds, asked), reason, asked=asked > seconds)


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Read seconds or a date that is still to come; anything else is as good as no header."""
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return float(value) or None
    try:
        date = parsedate_to_datetime(value)
        moment = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return float(math.ceil(moment - now)) if moment > now else None


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _message(body: str) -> str:
    try:
        found = loads(body.encode("utf-8", "replace"))
    except ValueError:
        return body
    message = found.get("message") if isinstance(found, dict) else None
    return message if isinstance(message, str) else ""
