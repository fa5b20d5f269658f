"""Stretches of files: the bytes from one line to another as a file of their own."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from raggate.text.files import reading


class Stretch(Struct, frozen=True):
    """A part of a file, by the offset of its first byte and of the one behind its last."""

    path: Path
    begin: int
    end: int

    def __str__(self) -> str:
        return str(self.path)


Source = Path | Stretch
"""What can be read: a file, which may be a pipe, or a stretch of one."""


class _Window(io.RawIOBase):
    """A stretch as a stream that ends where it does."""

    def __init__(self, stretch: Stretch) -> None:
        super().__init__()
        self._file = stretch.path.open("rb", buffering=0)
        self._file.seek(stretch.begin)
        self._left = stretch.end - stretch.begin

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(memoryview(buffer)[: self._left]) or 0
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_binary(source: Source) -> BinaryIO:
    """Open a file, or a stretch of one, to read bytes.

    Raises:
        UsageError: when there is no such file, or it cannot be read.
    """
    if isinstance(source, Stretch):
        with reading(source.path):
            return io.BufferedReader(_Window(source), 1 << 16)
    with reading(source):
        return source.open("rb")
