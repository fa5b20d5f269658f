"""Time as the wait for an API sees it, so that a test can let it pass."""

from __future__ import annotations

import queue
import time
from typing import TypeVar

_T = TypeVar("_T")


class Clock:
    """The clock of this machine. All times are seconds."""

    def now(self) -> float:
        """Give the time on a clock that only goes forward; where it begins means nothing."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        time.sleep(seconds)

    def take(self, answers: queue.SimpleQueue[_T], seconds: float) -> _T:
        """Wait for the next answer that another thread gives, for `seconds` at most.

        Raises:
            queue.Empty: when none came.
        """
        return answers.get(timeout=seconds)


MACHINE_CLOCK = Clock()
