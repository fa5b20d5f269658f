"""Files that a flag or a key named: what the system refuses is told in one wording, wherever one is read or written."""

from __future__ import annotations

import errno
import io
import os
import posixpath
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from raggate.errors import FileError, UsageError
from raggate.text import disk

MOST_BYTES = 1 << 30
"""Bytes of a file that is read whole and has no smaller bound of its own."""

MOST_LINE_BYTES = 32 << 20
"""Bytes of a line; a whole answer of the API has 8 MiB at most, unless the configuration allows for more."""

_PIECE = 1 << 18

UNREACHABLE = frozenset((errno.ELOOP, errno.ENAMETOOLONG))
"""A link that leads to itself, and a name that no file can have."""


def unreachable(error: OSError) -> UsageError | None:
    """Return what to tell of a path that names nothing; None for another error."""
    return UsageError(f"{error.filename}: {error.strerror}") if error.errno in UNREACHABLE else None


def read_file(
    path: Path, hint: str = "", *, most_bytes: int = MOST_BYTES, name: Path | None = None, follow: bool = True
) -> bytes:
    """Return the content of a file; `hint` is what to do if that fails, `name` what messages call it.

    Do not `follow` a link in a directory that others write to: a report could publish any file of this machine.

    Raises:
        FileError: when it cannot be read, is a pipe or device, or has more than `most_bytes`.
    """
    with reading(name or path, hint), opened(path, hint, name=name, follow=follow) as stream:
        return content(stream, str(name or path), hint, most_bytes=most_bytes)


def stored_lines(path: Path, hint: str = "", *, name: Path | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, each with its end; see `read_file`. A link is not followed.

    Raises:
        FileError: at the first line, when it cannot be read; at a line of more than `MOST_LINE_BYTES`.
    """
    with reading(name or path, hint), opened(path, hint, name=name, follow=False) as stream:
        number = 1
        while line := stream.readline(MOST_LINE_BYTES + 1):
            if len(line) > MOST_LINE_BYTES:
                place = f"{name or path}:{number}"
                raise FileError(place, f"a line of more than {MOST_LINE_BYTES} bytes", hint=hint)
            yield line
            number += 1


def opened(path: Path, hint: str = "", *, name: Path | None = None, follow: bool = True) -> BinaryIO:
    """Open a file without waiting for anyone; see `read_file`.

    Raises:
        FileError: when it is a pipe, a socket or a device, of which some have no end, or a link that is not followed.
        OSError: when it cannot be opened.
    """
    opener = partial(_without_waiting, 0 if follow else os.O_NOFOLLOW)
    try:
        stream = open(path, "rb", opener=opener)  # noqa: SIM115 - Path.open() takes no opener
    except OSError as error:
        if follow or error.errno != errno.ELOOP:
            raise
        raise FileError(str(name or path), "a link, which is not followed: copy the file there", hint=hint) from None
    if kind := special(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise FileError(str(name or path), f"{kind}, where a file is expected", hint=hint)
    return stream


def content(stream: BinaryIO, place: str, hint: str = "", *, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file that was `opened`; messages call it `place`.

    Raises:
        FileError: when it has more than `most_bytes`.
    """
    whole = io.BytesIO()
    large = os.fstat(stream.fileno()).st_size > most_bytes
    while not large and (piece := stream.read(_PIECE)):
        whole.write(piece)
        large = whole.tell() > most_bytes
    if large:
        raise FileError(place, f"larger than {most_bytes} bytes", hint=hint)
    return whole.getvalue()


def _without_waiting(more: int, path: str, flags: int) -> int:
    # opening a pipe waits until somebody writes to it
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | more)


def special(mode: int) -> str:
    """Name what has this mode and is neither a file nor a directory; empty for these two."""
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
