"""SIGINT and SIGTERM -> KeyboardInterrupt in the main thread: held back where it harms, raised again where it was lost.

What a signal raises while the interpreter drops an object is swallowed there, and the work would go on unasked. What it
raises inside an event loop loses a step of the loop, which then waits for ever.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from raggate.base.errors import RaggateError

_came: list[int] = []
_settled = threading.Event()
"""Whether the verdict is written."""
_late: list[int] = []
"""Signals that came since, and raised nothing."""


def install() -> None:
    """Let both signals raise KeyboardInterrupt from here on, but not one that this process was started to ignore."""
    _came.clear()
    _late.clear()
    _settled.clear()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _raise)


def installed() -> bool:
    """Return whether raggate is the program of this process, and no library in somebody else's."""
    return any(signal.getsignal(number) is _raise for number in (signal.SIGINT, signal.SIGTERM))


def check() -> None:
    """Raise KeyboardInterrupt when a signal has come before and what calls this still waits; for every long wait."""
    if _came:
        raise KeyboardInterrupt(f"signal {_came[0]}, again")


def came() -> bool:
    """Return whether a signal has come, so that whoever sent it waits."""
    return bool(_came)


def settle() -> None:
    """Only note the next signal, as the verdict is written and has only to be told; the one after it raises.

    The exit code is the verdict's then: what the run directory says and what the process says is the same.
    """
    _settled.set()


def go_on() -> None:
    """Raise from here on again, and at once for a signal that was only noted: more is to be measured."""
    _settled.clear()
    if _late:
        raise KeyboardInterrupt(f"signal {_late.pop()}, after a verdict")


@contextlib.contextmanager
def deferred() -> Iterator[list[int]]:
    """Delay SIGINT and SIGTERM, list those that came, and raise them at the end. Only the main thread gets any."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    previous: dict[int, Any] = {}
    try:
        # one by one: a signal between two of them must not leave the first behind
        for each in heard:
            previous[each] = signal.getsignal(each)
            signal.signal(each, note)
        yield came
    finally:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


@contextlib.contextmanager
def unwrapped() -> Iterator[None]:
    """Raise an interrupt as what it is: what else is raised after a signal came, and nobody expects, was made of it.

    Python before 3.12 makes a RuntimeError of one that comes while a class is made
    (https://github.com/python/cpython/issues/77757), pydantic a SchemaError of one that comes while a model is.
    """
    try:
        yield
    except RaggateError:
        raise
    except Exception as error:
        if not came():
            raise
        raise KeyboardInterrupt(f"signal {_came[0]}") from error


def over() -> None:
    """Let no signal change the exit code any more: it is known, and only the interpreter is left to shut down.

    It has no handlers while it does, and a second signal would be the end by that signal.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _raise(number: int, _: object) -> None:
    _came.append(number)
    if _settled.is_set():
        _late.append(number)
        _settled.clear()
        return
    raise KeyboardInterrupt(f"signal {number}")
