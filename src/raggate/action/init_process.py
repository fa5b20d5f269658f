"""A process that may be the first of its container -> the same one with a parent that does what an init does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Collection
from typing import NoReturn

from raggate.base.errors import ExitCode

_STOP = (signal.SIGINT, signal.SIGTERM)
_GRACE_S = 6.5
"""Seconds from the first signal to the end: the runner kills 10 s after it, and promises are kept in 7."""

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 4, 24
# SYS_PTRACE, SYS_ADMIN and PERFMON: each opens the memory of other processes again, by the kernel's version
_OPENING = (19, 21, 38)


def close_memory() -> None:
    """Keep other processes of the same user from reading this one's memory and environment, which hold the token.

    What is forked from here on is closed too until it executes a program. No program that is executed from here on has
    a capability that would open it again; a container has none of them by default. Linux only; what the kernel refuses
    stays as it was.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        for option, value in ((_PR_SET_DUMPABLE, 0), *((_PR_CAPBSET_DROP, number) for number in _OPENING)):
            libc.prctl(*(ctypes.c_ulong(number) for number in (option, value, 0, 0, 0)))


def supervised(
    work: Callable[[], int],
    *,
    grace: float = _GRACE_S,
    crashed: Callable[[BaseException], None] = traceback.print_exception,
) -> int:
    """Do the work in a child process and give its exit code; returns in the parent, never in the child.

    The first process of a container has to collect every orphan, and no signal ends it by default. The parent does
    that: it hands the first SIGINT or SIGTERM on, collects zombies, and kills the child when it has not ended `grace`
    seconds later. Call it before any thread is started. The work unblocks the signals when it is ready for them;
    `crashed` says what it raised. The code is 128 and the signal's number when one ended it; 130 when it was killed
    here.
    """
    watched = {*_STOP, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        _end_with(work, crashed)
    return _watched(child, watched, grace)


def _end_with(work: Callable[[], int], crashed: Callable[[BaseException], None]) -> NoReturn:
    """Do the work and end this process with its exit code, whatever happens."""
    code = int(ExitCode.INTERNAL)
    try:
        code = work()
    except BaseException as error:  # noqa: BLE001 - the process ends here, and says why
        crashed(error)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        # never back into the code of the parent
        os._exit(code)


def _watched(child: int, watched: Collection[int], grace: float) -> int:
    """Hand signals on to the child until it has ended, or is killed; gives the exit code."""
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
