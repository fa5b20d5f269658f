"""Temporary directories for what is read of commits and copied of a project, such as notes that not everybody may see.

A process that is killed (`kill -9`, out of memory) removes nothing. The next one removes what it has left: a directory
of this user that has raggate's mark and that nobody holds any more, which the system tells by a lock.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_PREFIX = "raggate-"
_HELD = "held-by-raggate"
"""The file that is locked for as long as the process lives that made it, however that ends."""

_YOUNG_S = 3600.0
"""Seconds in which a directory is left alone: between making and locking it, nobody holds it."""


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Make an empty directory that only this user can read; on leaving it is removed with all that is in it.

    Those that earlier processes have left are removed first, once in a process.
    """
    _sweep(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        held = os.open(Path(name, _HELD), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            _lock(held, Path(name, _HELD))
            files = Path(name, "files")
            files.mkdir()
            yield files.resolve()
        finally:
            os.close(held)


def _lock(held: int, path: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # a file system without locks: what has no mark is never removed by others
        path.unlink()


@cache
def _sweep(parent: str) -> None:
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                # folders can lie deeper inside one another than Python calls functions
                with suppress(OSError, RecursionError):
                    _remove_left(Path(entry.path))


def _remove_left(place: Path) -> None:
    """Remove a directory that is surely raggate's and nobody's any more; a link is none."""
    status = place.lstat()
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    if not private or status.st_uid != os.geteuid() or time.time() - status.st_mtime < _YOUNG_S:
        return
    held = os.open(place / _HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        mark = os.fstat(held)
        if stat.S_ISREG(mark.st_mode) and mark.st_uid == os.geteuid():
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place)
    finally:
        os.close(held)
