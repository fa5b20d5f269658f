"""The clock of this machine, on which an API is waited for when no test is running."""

from __future__ import annotations

import queue
import threading

import pytest

from raggate.service.clock import MACHINE_CLOCK


def test_time_passes() -> None:
    """Sleeping takes at least the seconds it was asked for, on the clock that tells the time."""
    begun = MACHINE_CLOCK.now()
    MACHINE_CLOCK.sleep(0.01)
    assert MACHINE_CLOCK.now() - begun >= 0.01


def test_an_answer_is_taken_as_soon_as_it_comes() -> None:
    """An answer of another thread ends the wait for it."""
    answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=answers.put, args=["ready"]).start()
    assert MACHINE_CLOCK.take(answers, 60) == "ready"


def test_no_answer_ends_the_wait() -> None:
    """A wait without an answer is over after its seconds, and says so."""
    with pytest.raises(queue.Empty):
        MACHINE_CLOCK.take(queue.SimpleQueue(), 0.01)
