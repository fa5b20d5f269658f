"""Files of lines in the format of gzip: the same lines give the same bytes, and nothing is unpacked without a bound."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from raggate.errors import FileError
from raggate.text.files import opened, reading

MOST_BYTES = 256 << 20
"""Unpacked bytes that are taken however few they are packed in."""

MOST_RATIO = 200
"""The most unpacked bytes for each packed one that are taken beyond these."""

_GZIP = 31
"""What zlib calls the format of gzip. Its header has no time in it."""

_LEVEL = 1
"""Takes a quarter of the CPU of the usual level, and a quarter more bytes."""

_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error)


def zipped(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Pack lines, each with its end, into pieces of one file."""
    packer = zlib.compressobj(level=_LEVEL, wbits=_GZIP)
    for line in lines:
        yield packer.compress(line)
    yield packer.flush()


def zipped_lines(path: Path, hint: str = "", *, name: Path | None = None) -> Iterator[bytes]:
    """Read such a file line by line, each with its end. Nothing in it is trusted, and a link is not followed.

    Raises:
        FileError: when it cannot be read, is broken or cut short, or grows beyond `MOST_BYTES` and `MOST_RATIO`; each
            once that is reached.
    """
    shown = str(name or path)
    with reading(name or path, hint), opened(path, hint, name=name, follow=False) as packed:
        size = os.fstat(packed.fileno()).st_size
        most = max(MOST_BYTES, MOST_RATIO * size)
        try:
            _refuse_nothing(size)
            with gzip.open(packed) as stream:
                # never more than one byte too many, whatever a line says of its length
                while line := stream.readline(most + 1):
                    most -= len(line)
                    if most < 0:
                        raise FileError(shown, f"it would grow to more than {MOST_RATIO} times its size", hint=hint)
                    yield line
        except _BROKEN as error:
            raise FileError(shown, f"not a whole gzip file: {error}", hint=hint) from None


def unzipped(data: bytes, most: int) -> bytes:
    """Unpack the content of such a file.

    Args:
        data: the content, which is not trusted.
        most: bytes that it may unpack to.

    Raises:
        ValueError: when it is broken or cut short, or unpacks to more.
    """
    try:
        _refuse_nothing(len(data))
        with gzip.open(io.BytesIO(data)) as stream:
            content = stream.read(most + 1)
    except _BROKEN as error:
        raise ValueError(f"not a whole gzip file: {error}") from None
    if len(content) > most:
        raise ValueError(f"it unpacks to more than {most} bytes")
    return content


def _refuse_nothing(size: int) -> None:
    # which the library takes for a file without lines
    if not size:
        raise EOFError("it is empty")
