"""Timestamps as text: read, written, and the days between two. None for what is no timestamp. Pure."""

from __future__ import annotations

import contextlib
import math
import re
import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from types import FrameType

from raggate.base.errors import CannotTell, RaggateError
from raggate.base.numbers import counted, fixed

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
    """Read seconds or a date, beside now in seconds since 1970; a date that is past is 0, and what is neither None."""
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
        moment = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return float(max(math.ceil(moment - now), 0))


ANSWERS_S, PER_ANSWER_S = 120.0, 1.0
"""Seconds that labelling, scoring, comparing and telling may take each, and further ones per answer."""

LINT_S, LINT_PER_MIB_S, LINT_PER_THOUSAND_S = 60.0, 20.0, 2.0
"""Seconds that holding questions against notes may take, and further ones per MiB of notes and per 1,000 questions."""

_AGAIN = 0.25
"""Seconds after which the alarm comes again: what it raises while an object is dropped is swallowed there."""

_running: list[RaggateError] = []
"""What the one deadline raises that counts; empty outside."""


class _TimeUp(BaseException):
    """The alarm. No parser that lives through every exception may live through it."""


def after_asking(answers: int) -> contextlib.AbstractContextManager[None]:
    """Return the deadline of one stage after asking; beyond it nobody can tell."""
    seconds = ANSWERS_S + PER_ANSWER_S * answers
    hint = "Some text in the answers or the notes takes very long to check. Look into the run's results."
    late = f"{counted(answers, 'answer')} took more than {fixed(seconds, 0)} s to judge"
    return within(seconds, CannotTell(late, hint=hint))


def beside_notes(size: int, questions: int) -> float:
    """Return the seconds that holding questions against notes of so many characters may take."""
    return LINT_S + LINT_PER_MIB_S * size / (1 << 20) + LINT_PER_THOUSAND_S * questions / 1000


@contextlib.contextmanager
def within(seconds: float, late: RaggateError) -> Iterator[None]:
    """Stop the work inside after so many seconds of wall time, and raise `late`.

    The alarm is SIGALRM, so SIGINT and SIGTERM mean inside what they mean outside. It reaches Python code, and waits
    for a call into C to return: what is given to one must be bounded by its size. Inside another deadline the outer
    one counts; in another thread than the main one, which gets no signals, there is none.
    """
    if _running or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        if _running:
            raise _TimeUp

    begun = time.monotonic()
    previous = signal.signal(signal.SIGALRM, ring)
    remaining, interval = signal.getitimer(signal.ITIMER_REAL)
    try:
        try:
            _running.append(late)
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
            yield
        finally:
            _running.clear()
    except _TimeUp:
        raise late from None
    finally:
        # it may have rung before the line that says that nothing is running any more
        _running.clear()
        # an alarm that somebody else had set goes on
        later = max(remaining - (time.monotonic() - begun), 0.001) if remaining else 0.0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if previous is None else previous)
        signal.setitimer(signal.ITIMER_REAL, later, interval)
