"""Work that takes too long is stopped, and signals mean inside a deadline what they mean outside."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time

import pytest

from raggate.errors import CannotTell, UsageError
from raggate.service import signals
from raggate.text import deadlines
from raggate.text.deadlines import within
from tables import each_row

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
    assert not deadlines._running


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
    assert swallowed == [deadlines._TimeUp]


def test_work_in_time_is_left_alone() -> None:
    """Work that ends in time is not disturbed afterwards, and the handler is the one of before."""
    before = signal.getsignal(signal.SIGALRM)
    with within(0.05, LATE):
        pass
    time.sleep(0.1)
    assert signal.getsignal(signal.SIGALRM) is before


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
    assert not deadlines._running


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


def test_a_large_golden_set_has_more_time() -> None:
    """A million honest questions are not taken for some that are made to take long."""
    assert deadlines.beside_notes(0, 24) < 61
    assert deadlines.beside_notes(1 << 20, 1_000_000) == pytest.approx(60 + 20 + 2000)
