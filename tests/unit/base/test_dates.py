"""Dates: timestamps as text, the day they are of, and the days between them."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from raggate.base import dates
from raggate.base.dates import day, days_between, days_until, retry_after, within
from raggate.base.errors import CannotTell, UsageError
from raggate.service import signals
from tables import each_row


@each_row(
    ("stamp", "expected"),
    [
        pytest.param("2026-01-02T03:04:05Z", "2026-01-02", id="utc"),
        pytest.param("2026-01-02T23:30:00-01:00", "2026-01-03", id="another-zone"),
        pytest.param("0001-01-01T00:00:00+23:59", None, id="before-the-calendar"),
        pytest.param("yesterday", None, id="no-timestamp"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_day(stamp: object, expected: str | None) -> None:
    """The day of a timestamp is that in UTC; what is no timestamp has none."""
    assert day(stamp) == expected


@each_row(
    ("count", "one", "other", "days"),
    [
        (days_between, "2026-01-01T00:00:00Z", "2026-01-03T12:00:00Z", 2.5),
        (days_between, "2026-01-03T12:00:00Z", "2026-01-01T00:00:00Z", -2.5),
        (days_between, None, "2026-01-01T00:00:00Z", None),
        (days_between, "2026-01-01T00:00:00Z", "soon", None),
        # whole days from the day of a timestamp, whatever its hour
        (days_until, "2026-01-03", "2026-01-01T23:59:59Z", 2),
        (days_until, "2026-01-03", "2026-01-03T23:59:59Z", 0),
        (days_until, "2026-01-03", "2026-01-04T00:00:00Z", -1),
        (days_until, "2026-01-03", "never", None),
        (days_until, "never", "2026-01-03T00:00:00Z", None),
    ],
)
def test_days(count: Callable[[Any, Any], float | None], one: str, other: str, days: float | None) -> None:
    """Days are negative backwards, and not counted at all where a side is no timestamp."""
    assert count(one, other) == days


NOW = 3600.5


@each_row(
    ("value", "seconds"),
    [
        ("7", 7),
        ("Thu, 01 Jan 1970 01:00:10 GMT", 10),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("soon", None),
        ("1.5", None),
        ("٣", None),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_seconds_or_a_date(value: str, seconds: float | None) -> None:
    """Seconds are as they stand, a date is how far it is away, rounded up, and all else is no header."""
    assert retry_after(value, NOW) == seconds


LATE = UsageError("too late")


def endless() -> None:
    """Do not end, and live through every exception, as a careless parser does."""
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.001)


def test_work_without_end_is_stopped() -> None:
    """What does not end is stopped with the error that was given, whatever exceptions it lives through."""
    with pytest.raises(UsageError, match="too late"), within(0.05, LATE):
        endless()
    assert not dates._running


def test_an_alarm_that_is_swallowed_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The alarm is not lost where an object is dropped, which swallows all exceptions."""

    class Slow:
        def __del__(self) -> None:
            time.sleep(0.2)

    swallowed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: swallowed.append(unraisable.exc_type))

    def drop() -> None:
        Slow()
        endless()

    with pytest.raises(UsageError), within(0.05, LATE):
        drop()
    assert swallowed == [dates._TimeUp]


def test_the_alarm_of_somebody_else_goes_on() -> None:
    """An alarm that was set before rings at its time, with its own handler."""
    rung: list[int] = []
    handler = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    timer = signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with within(60, LATE):
            time.sleep(0.05)
        assert not rung
        time.sleep(0.5)
        assert rung == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def test_the_outer_deadline_counts() -> None:
    """Inside a deadline another one changes nothing."""
    with pytest.raises(CannotTell, match="outer"), within(0.05, CannotTell("outer")), within(60, LATE):
        endless()


@each_row("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_get_through(number: signal.Signals) -> None:
    """SIGINT and SIGTERM interrupt inside a deadline as they do outside."""
    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)}
    signals.install()
    try:
        with pytest.raises(KeyboardInterrupt), within(60, LATE):
            signal.raise_signal(number)
    finally:
        signals.install()  # which forgets what came
        for signum, handler in before.items():
            signal.signal(signum, handler)
    assert not dates._running


def test_other_threads_have_none() -> None:
    """A thread that gets no signals does its work without a deadline, and without an error."""
    done: list[int] = []

    def work() -> None:
        with within(0.01, LATE):
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
