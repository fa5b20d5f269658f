"""SIGINT and SIGTERM -> KeyboardInterrupt in the main thread, and once more where the first one was lost.

What a signal raises while the interpreter drops an object is swallowed there, and the work would go on unasked.
"""

from __future__ import annotations

import signal
from typing import NoReturn

_came: list[int] = []


def install() -> None:
    """Let both signals raise KeyboardInterrupt from here on, but not one that this process was started to ignore."""
    _came.clear()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _raise)


def check() -> None:
    """Raise KeyboardInterrupt when a signal has come before and what calls this still waits; for every long wait."""
    if _came:
        raise KeyboardInterrupt(f"signal {_came[0]}, again")


def _raise(number: int, _: object) -> NoReturn:
    _came.append(number)
    raise KeyboardInterrupt(f"signal {number}")
