"""Ends what a run has started, from inside raggate or, as a script of its own, when raggate is gone.

The script reads process groups from stdin, one number per line. `done` ends it; the end of stdin without `done` means
that raggate died, and everything it had started is killed. It outlives a SIGKILL of raggate because it is another
process, and it needs nothing between fork and exec, unlike a parent-death signal, which also reaches only the first
child and is tied to the thread that started it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

MARK = "RAGGATE_RUN_MARK"
"""Environment variable that every process of a run inherits, wherever it has moved to."""

_PROCESSES = Path("/proc")
_PATIENCE = 2.0
_CALM_SCANS = 2  # a process in the middle of an exec shows no environment, so one empty scan proves nothing


def marked(mark: str) -> list[int]:
    """List the processes that carry the mark: those of this user on Linux, none elsewhere."""
    needle = f"{MARK}={mark}".encode()
    marked = []
    for entry in os.scandir(_PROCESSES) if _PROCESSES.is_dir() else ():
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError), open(f"{entry.path}/environ", "rb") as file:  # noqa: PTH123 - half the time
            environment = file.read()
            if needle in environment and needle in environment.split(b"\0"):
                marked.append(int(entry.name))
    return [pid for pid in marked if pid != os.getpid()]


def kill(mark: str, groups: Iterable[int]) -> None:
    """SIGKILL the process groups and every marked process, until none is left or 2 s have passed."""
    for group in groups:
        # macOS answers PermissionError for a group with only zombies left
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    calm = 0
    end = time.monotonic() + _PATIENCE
    while calm < _CALM_SCANS and time.monotonic() < end:
        pids = marked(mark)
        calm = 0 if pids else calm + 1
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if pids:
            time.sleep(0.005)


def _main(mark: str) -> None:
    # it ends by itself as soon as raggate ends: a signal meant for raggate must not take it away before
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: list[int] = []
    for line in sys.stdin:
        if line.strip() == "done":
            return
        groups.append(int(line))
    kill(mark, groups)


if __name__ == "__main__":
    _main(sys.argv[1])
