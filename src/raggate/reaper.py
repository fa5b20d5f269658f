"""A process that may be the first of its container -> the same one with a parent that does what an init does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from raggate.errors import ExitCode

_STOP = (signal.SIGINT, signal.SIGTERM)
_GRACE_S = 6.5
"""Seconds from the first signal to the end: the runner kills 10 s after it, and promises are kept in 7."""


def supervised(work: Callable[[], int], *, grace: float = _GRACE_S) -> int:
    """Do the work in a child process and give its exit code; returns in the parent, never in the child.

    The first process of a container has to collect every orphan, and no signal ends it by default. The parent does
    that: it hands the first SIGINT or SIGTERM on, collects zombies, and kills the child when it has not ended `grace`
    seconds later. Call it before any thread is started.

    Args:
        work: runs in the child with both signals blocked; it unblocks them when it is ready to be interrupted.
        grace: seconds between the first signal and the kill.

    Returns:
        The exit code of the work; 128 and the signal's number when a signal ended it; 130 when it was killed here.
    """
    watched = {*_STOP, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        code = int(ExitCode.INTERNAL)
        try:
            code = work()
        finally:
            # never back into the code of the parent, whatever happened
            os._exit(code)
    deadline: float | None = None
    while True:
        left = 3600.0 if deadline is None else max(deadline - time.monotonic(), 0.0)
        received = signal.sigtimedwait(watched, left)
        if received is not None and received.si_signo in _STOP and deadline is None:
            deadline = time.monotonic() + grace
            os.kill(child, received.si_signo)
        late = deadline is not None and time.monotonic() >= deadline
        if late:
            os.kill(child, signal.SIGKILL)
        ended = _collect(child, wait=late)
        if ended is not None:
            return int(ExitCode.INTERRUPTED) if late else ended


def _collect(child: int, *, wait: bool) -> int | None:
    """Collect every process that has ended; give the child's exit code when it is among them."""
    while True:
        try:
            ended, status = os.waitpid(child, 0) if wait else os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return int(ExitCode.INTERNAL)
        if ended == 0:
            return None
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
