"""Processes beside this one: forks that have read everything already, and undo nothing of this one when they end."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_SECONDS = 0.5


@contextmanager
def running() -> Iterator[list[int]]:
    """Return a list for the ids of processes; on leaving none of them is left."""
    processes: list[int] = []
    try:
        yield processes
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def start(work: Callable[[], object], processes: list[int]) -> None:
    """Do `work` in a fork, which ends with 0 when it returns and with 1 when it raises, and add its id to a list.

    The fork ignores SIGINT: a terminal sends it to both, and this process ends the other.

    Raises:
        OSError: when there can be no further process.
    """
    # a signal in a fork would have it undo what is not its own
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        process = _fork()
        if process == 0:
            _do(work)
        processes.append(process)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def end_with(parent: int) -> None:
    """Have this process, a fork that waits for nobody, end soon after the one it is a fork of, however that ended."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_SECONDS, _LOOK_SECONDS)


def _do(work: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        work()
        code = 0
    finally:
        # nothing may go on in a second copy of this program
        os._exit(code)


def _fork() -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with warnings.catch_warnings():
        # threads of this process read logs, which a fork neither does nor waits for
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
