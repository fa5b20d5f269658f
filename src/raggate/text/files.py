"""Files that a flag or a key named: what the system refuses is told in one wording, wherever one is read or written."""

from __future__ import annotations

import errno
import posixpath
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from raggate.errors import FileError, UsageError
from raggate.text import disk

if TYPE_CHECKING:
    from raggate.text.long_bytes import LongBytes

MOST_LINE_BYTES = 32 << 20
"""Bytes of a line; a whole answer of the API has 8 MiB at most, unless the configuration allows for more."""

UNREACHABLE = frozenset((errno.ELOOP, errno.ENAMETOOLONG))
"""A link that leads to itself, and a name that no file can have."""


def unreachable(error: OSError) -> UsageError | None:
    """Give what to tell of a path that names nothing; None for another error."""
    return UsageError(f"{error.filename}: {error.strerror}") if error.errno in UNREACHABLE else None


def read_file(
    path: Path, hint: str = "", *, most_bytes: int | None = None, name: Path | None = None, stored: bool = False
) -> bytes:
    """Read a file; `hint` is what to do where that fails, `name` what it is called there.

    A file that is `stored` has its content for good: a pipe or device, which others read from, is none.

    Raises:
        FileError: when it cannot be read, or has more than `most_bytes`.
    """
    with reading(name or path, hint):
        if stored and (kind := special(path)):
            raise FileError(str(name or path), f"{kind}, where a file is expected", hint=hint)
        if most_bytes is not None and path.stat().st_size > most_bytes:
            raise FileError(str(name or path), f"larger than {most_bytes} bytes", hint=hint)
        return path.read_bytes()


def long_file(path: Path, hint: str = "", *, most_bytes: int) -> LongBytes:
    """Read a file that may be too long for memory; see `read_file`.

    Raises:
        FileError: when it cannot be read, or has more than `most_bytes`.
    """
    from raggate.text.long_bytes import LongBytes, TooLongError

    with reading(path, hint), path.open("rb") as stream:
        try:
            return LongBytes(iter(partial(stream.read, 1 << 18), b""), most=most_bytes)
        except TooLongError as error:
            raise FileError(str(path), str(error), hint=hint) from None


def stored_lines(path: Path, hint: str = "", *, name: Path | None = None) -> Iterator[bytes]:
    """Read a file that is `stored`, see `read_file`, line by line, each with its end.

    Raises:
        FileError: at the first line, when it cannot be read; at a line of more than `MOST_LINE_BYTES`.
    """
    with reading(name or path, hint):
        if kind := special(path):
            raise FileError(str(name or path), f"{kind}, where a file is expected", hint=hint)
        with path.open("rb") as stream:
            number = 1
            while line := stream.readline(MOST_LINE_BYTES + 1):
                if len(line) > MOST_LINE_BYTES:
                    place = f"{name or path}:{number}"
                    raise FileError(place, f"a line of more than {MOST_LINE_BYTES} bytes", hint=hint)
                yield line
                number += 1


def special(path: Path) -> str:
    """Say what a path is that is neither a file nor a directory: opening it may wait for ever; empty for all else.

    Raises:
        OSError: when nothing is there, or it cannot be looked at.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    return {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}.get(stat.S_IFMT(mode), "a device")


def write_file(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all; `data` may come in pieces.

    Raises:
        UsageError: when it cannot be written.
        CannotTell: when there is no space left for it.
    """
    from raggate.text.jsonio import write_atomic

    with writing(path):
        write_atomic(path, data)


@contextmanager
def reading(path: Path, hint: str = "") -> Iterator[None]:
    """Say of a file that is read meanwhile why the system refuses to; see `read_file`."""
    try:
        yield
    except OSError as error:
        raise FileError(str(path), error.strerror or str(error), hint=hint) from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say of a file, or a folder of files, that is written meanwhile why the system refuses to; see `write_file`."""
    try:
        yield
    except OSError as error:
        if error.errno in disk.FULL and (full := disk.unwritable(error)) is not None:
            raise full from None
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def below(folder: str, path: str) -> str:
    """Name a path in a folder; the folder has no name where people are in it."""
    return posixpath.normpath(posixpath.join(folder, path)) if folder else path
