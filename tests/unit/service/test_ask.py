"""When questions are started: on a schedule that no answer moves."""

from __future__ import annotations

import asyncio

import pytest

from raggate.config.ask_settings import Ask
from raggate.service.ask import Pace
from tables import each_row


class Clock:
    """A clock that only sleeping moves, or a test."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        """Return the time."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds


def turns(pace: Pace, count: int) -> list[float | None]:
    """Take turns one after the other."""

    async def take() -> list[float | None]:
        return [await pace.turn() for _ in range(count)]

    return asyncio.run(take())


def test_a_rate_is_kept() -> None:
    """Four questions a second are due a quarter of a second apart, the first at once."""
    clock = Clock()
    assert turns(Pace(4, clock.now, clock.sleep), 4) == [100.0, 100.25, 100.5, 100.75]
    assert clock.seconds == 100.75


def test_what_is_late_is_due_when_it_was_due() -> None:
    """After a second in which nothing could start, what was due meanwhile starts at once and counts from its time."""
    clock = Clock()
    pace = Pace(4, clock.now, clock.sleep)
    assert turns(pace, 1) == [100.0]
    clock.seconds += 1
    assert turns(pace, 5) == [100.25, 100.5, 100.75, 101.0, 101.25]
    assert clock.seconds == 101.25


def test_without_a_rate_nothing_waits() -> None:
    """A question starts as soon as it asks."""
    clock = Clock()
    assert turns(Pace(None, clock.now, clock.sleep), 3) == [None] * 3
    assert clock.seconds == 100.0


@each_row("rate", [0, -1, float("inf"), float("nan"), 10_001])
def test_what_is_no_rate(rate: float) -> None:
    """A rate is above zero and at most 10,000 in a second."""
    with pytest.raises(ValueError, match="rate"):
        Ask(rate=rate)


def test_bulk_has_no_rate() -> None:
    """The adapter kebab, which asks in bulk, cannot keep one."""
    with pytest.raises(ValueError, match="expected no 'rate', as the adapter kebab asks in bulk"):
        Ask(adapter="kebab", rate=5)
