"""Files: read within bounds, written whole or not at all, and one wording for what the system refuses.

Every command loads this module, so what few need is loaded at its first use.
"""

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

from raggate.base.errors import CannotTell, FileError, UsageError

RUNS = ".raggate/runs"
"""Where run directories go, below the directory of raggate.yml."""

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
    """
    with reading(name or path, hint), opened(path, hint, name=name, follow=follow) as stream:
        return content(stream, str(name or path), hint, most_bytes=most_bytes)


def stored_lines(path: Path, hint: str = "", *, name: Path | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, each with its end; see `read_file`. A link is not followed."""
    with reading(name or path, hint), opened(path, hint, name=name, follow=False) as stream:
        number = 1
        while line := stream.readline(MOST_LINE_BYTES + 1):
            if len(line) > MOST_LINE_BYTES:
                place = f"{name or path}:{number}"
                raise FileError(place, f"a line of more than {MOST_LINE_BYTES} bytes", hint=hint)
            yield line
            number += 1


def opened(path: Path, hint: str = "", *, name: Path | None = None, follow: bool = True) -> BinaryIO:
    """Open a file without waiting for anyone; see `read_file`."""
    opener = partial(_without_waiting, 0 if follow else os.O_NOFOLLOW)
    try:
        stream = open(path, "rb", opener=opener)  # noqa: SIM115 - Path.open() takes no opener
    except OSError as error:
        if follow or error.errno != errno.ELOOP:
            raise
        raise FileError(str(name or path), "a link. Put a copy of the file there instead", hint=hint) from None
    if kind := special(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise FileError(str(name or path), f"{kind}, where a file is expected", hint=hint)
    return stream


def content(stream: BinaryIO, place: str, hint: str = "", *, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file that was `opened`; messages call it `place`."""
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


def write_atomic(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all: temporary file beside it, fsync, rename. `data` may come in pieces."""
    with beside(path, data) as file:
        file.replace(path)


@contextmanager
def beside(path: Path, data: bytes | Iterable[bytes]) -> Iterator[Path]:
    """Write a temporary file beside the place that it is for, where only a rename is left to do, and give its path.

    It is removed when something fails meanwhile.
    """
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    name = ""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.writelines([data] if isinstance(data, bytes) else data)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes files private; what raggate leaves behind is meant to be read by the next step
        Path(name).chmod(0o644)
        yield Path(name)
    except BaseException as error:
        if name:
            Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise naming(error, path) from error
        raise


def write_file(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all; `data` may come in pieces."""
    with writing(path):
        write_atomic(path, data)


@contextmanager
def reading(path: Path, hint: str = "") -> Iterator[None]:
    """Turn an OSError of a read within this block into a message; see `read_file`."""
    try:
        yield
    except OSError as error:
        raise FileError(str(path), error.strerror or str(error), hint=hint) from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError of a write within this block into a message, for a file or a folder; see `write_file`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and (full := unwritable(error)) is not None:
            raise full from None
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def below(folder: str, path: str) -> str:
    """Name a path in a folder; the folder has no name where people are in it."""
    return posixpath.normpath(posixpath.join(folder, path)) if folder else path


FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""No space, a quota that is used up, and a file that would be larger than the process may make it."""

_CLOSED = frozenset((errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO))
_ELSEWHERE = "or name another place: --out for run directories, TMPDIR for temporary files."


def unwritable(error: OSError) -> CannotTell | None:
    """Return what to tell of an error of the system's disks; None when it is another one, which may be a bug."""
    if error.errno not in FULL | _CLOSED:
        return None
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    message = f"{path or 'the output'}: {error.strerror or error}"
    advice = "Free some space" if error.errno in FULL else "Let the user that raggate runs as read and write there"
    if error.errno == errno.EFBIG:
        advice = "Raise the limit on the size of files (`ulimit -f`)"
    return CannotTell(message, hint=f"{advice}, {_ELSEWHERE}")


def naming(error: OSError, path: Path) -> OSError:
    """Return the error with the file that was meant, where it names none or a temporary one."""
    return OSError(error.errno, error.strerror or str(error), str(path))


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Make an empty directory that only this user can read; on leaving it is removed with all that is in it."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="raggate-") as name:
        yield Path(name).resolve()


MOST_UNZIPPED = 256 << 20
"""Unpacked bytes that are taken however few they are packed in."""

MOST_RATIO = 200
"""The most unpacked bytes for each packed one that are taken beyond these."""

_GZIP = 31
"""What zlib calls the format of gzip. Its header has no time in it."""

_LEVEL = 1
"""Takes a quarter of the CPU of the usual level, and a quarter more bytes."""


def zipped(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Pack lines, each with its end, into pieces of one file."""
    import zlib

    packer = zlib.compressobj(level=_LEVEL, wbits=_GZIP)
    for line in lines:
        yield packer.compress(line)
    yield packer.flush()


def zipped_lines(path: Path, hint: str = "", *, name: Path | None = None) -> Iterator[bytes]:
    """Read such a file line by line, each with its end. Nothing in it is trusted, and a link is not followed."""
    import gzip
    import zlib

    shown = str(name or path)
    with reading(name or path, hint), opened(path, hint, name=name, follow=False) as packed:
        size = os.fstat(packed.fileno()).st_size
        most = max(MOST_UNZIPPED, MOST_RATIO * size)
        try:
            _refuse_nothing(size)
            # its own buffer is so small that filling it takes most of the time
            with io.BufferedReader(gzip.open(packed), 1 << 17) as stream:
                # never more than one byte too many, whatever a line says of its length
                while line := stream.readline(most + 1):
                    most -= len(line)
                    if most < 0:
                        raise FileError(shown, f"unpacked it would be more than {MOST_RATIO} times as large", hint=hint)
                    yield line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileError(shown, f"not a whole gzip file: {error}", hint=hint) from None


def unzipped(data: bytes, most: int) -> bytes:
    """Unpack the content of such a file."""
    import gzip
    import zlib

    try:
        _refuse_nothing(len(data))
        with gzip.open(io.BytesIO(data)) as stream:
            content = stream.read(most + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"not a whole gzip file: {error}") from None
    if len(content) > most:
        raise ValueError(f"it unpacks to more than {most} bytes")
    return content


def _refuse_nothing(size: int) -> None:
    # which the library takes for a file without lines
    if not size:
        raise EOFError("it is empty")
