"""When questions are started: as soon as there is room, or so many in a second, whatever becomes of earlier ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class Pace:
    """Gives each question its turn, one after the other.

    Args:
        rate: questions that are started in a second; None to start each as soon as it asks for its turn.
        now: gives the seconds of a clock that only goes forward.
        sleep: waits for so many seconds.
    """

    def __init__(
        self,
        rate: float | None,
        now: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rate = rate
        self._now = now
        self._sleep = sleep
        self._begun: float | None = None
        self._turns = 0

    async def turn(self) -> float | None:
        """Wait for the turn of the next question. Gives when that was due, which may be past; None without a rate."""
        if self._rate is None:
            return None
        if self._begun is None:
            self._begun = self._now()
        # from the beginning, not from the turn before: what is late once does not make all that follow late
        due = self._begun + self._turns / self._rate
        self._turns += 1
        while (left := due - self._now()) > 0:
            await self._sleep(left)
        return due
