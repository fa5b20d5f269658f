"""A file that the system does not let anybody write -> cannot tell: which one, why, and how much space is left."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from raggate.errors import CannotTell
from raggate.text.numbers import fixed

FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""No space, a quota that is used up, and a file that would be larger than the process may make it."""

_CLOSED = frozenset((errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO))
_ELSEWHERE = "or name another place: --out for run directories, TMPDIR for what is unpacked on the way."


def unwritable(error: OSError) -> CannotTell | None:
    """Return what to tell of an error of the system's disks; None when it is another one, which may be a bug."""
    if error.errno not in FULL | _CLOSED:
        return None
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    message = f"{path or 'the output'}: {error.strerror or error}{_space_left(path) if error.errno in FULL else ''}"
    if error.errno == errno.EFBIG:
        return CannotTell(message, hint=f"Raise the limit on the size of files (`ulimit -f`), {_ELSEWHERE}")
    if error.errno in FULL:
        return CannotTell(message, hint=f"Free some space, {_ELSEWHERE}")
    return CannotTell(message, hint=f"Let the user that raggate runs as read and write there, {_ELSEWHERE}")


def naming(error: OSError, path: Path) -> OSError:
    """Return the error with the file that was meant, where it names none or a temporary one."""
    return OSError(error.errno, error.strerror or str(error), str(path))


def _space_left(path: Path | None) -> str:
    # a directory may be a disk of its own, as that of temporary files often is
    place = next((part for part in (path, *path.absolute().parents) if part.is_dir()), None) if path else None
    if place is None:
        return ""
    try:
        disk = os.statvfs(place)
    except OSError:
        return ""
    free = fixed(disk.f_bavail * disk.f_frsize / (1 << 20), 1)
    return f"; {free} MiB and room for {disk.f_favail} files are left there"
