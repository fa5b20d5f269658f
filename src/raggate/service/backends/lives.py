"""This process -> a text that names it for good; such a text -> whether its process is certainly dead. Linux only."""

from __future__ import annotations

import os
import re
from pathlib import Path

_PROC = Path("/proc")
_SCOPE = ("sys/kernel/random/boot_id", "self/ns/pid", "self/ns/time")
_LIFE = re.compile(r"(?P<scope>[0-9a-f-]+ \d+ \d+) (?P<process>[1-9]\d{0,8}) (?P<start>\d{1,20})", re.ASCII)


def own() -> str | None:
    """Name this process by boot, namespaces of numbers and of time, number, and start; None where that is not known."""
    scope, start = _scope(), _start(os.getpid())
    return f"{scope} {os.getpid()} {start}" if scope and start else None


def is_over(life: str) -> bool:
    """Tell whether the process of that name is dead for certain.

    It is never of one that may live: of another boot, machine or container, or whose start cannot be read. Any text is
    taken; one that names no process is nobody's end.
    """
    named = _LIFE.fullmatch(life)
    if named is None or named["scope"] != _scope():
        return False
    number = int(named["process"])
    try:
        # /proc may hide the processes of other users; this does not
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _start(number) not in {None, named["start"]}


def _scope() -> str | None:
    boot, numbers, clock = (_PROC / name for name in _SCOPE)
    try:
        if str((_PROC / "self").readlink()) != str(os.getpid()):
            return None  # it shows the processes of another container
        return f"{boot.read_text(encoding='ascii').strip()} {numbers.stat().st_ino} {clock.stat().st_ino}"
    except (OSError, ValueError):
        return None


def _start(process: int) -> str | None:
    """Give the time of a process's start in ticks since the boot."""
    try:
        # the name before it may hold anything, spaces and parentheses too
        return (_PROC / str(process) / "stat").read_bytes().rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError, ValueError):
        return None
