"""Standard output and standard error, which may be missing, full, or a pipe that nobody reads any more."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_LAST = 2
"""The number of standard error, the last of the three."""


class _Forgiving(io.FileIO):
    """A descriptor that takes what it cannot pass on, so that a verdict does not depend on who listens.

    An error that is not forgiven is raised once; what is still buffered then, and written at the end, is dropped.
    """

    def __init__(self, descriptor: int, forgiven: type[OSError]) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._forgiven = forgiven
        self._reported = False

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not self._reported and not isinstance(error, self._forgiven):
                self._reported = True
                raise
            return memoryview(data).nbytes


def prepare() -> None:
    """Let everything that is printed later be written somewhere, in whatever letters there are.

    A reader that has left is no error, on either stream. Standard error is never one: what cannot be said there changes
    no exit code. A full disk below standard output still is, because the report is then not where it was meant to be.

    Click would end with 1 for a reader that has left: https://github.com/pallets/click/pull/1106.
    """
    _open_missing()
    sys.stdout = _forgiving(sys.stdout, sys.__stdout__, BrokenPipeError)
    sys.stderr = _forgiving(sys.stderr, sys.__stderr__, OSError)


def _open_missing() -> None:
    """Open the standard descriptors that are closed, so that no file of a run takes their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST:
        pass
    os.close(descriptor)


def _forgiving(stream: TextIO | None, own: TextIO | None, forgiven: type[OSError]) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if stream is own:
        raw = _Forgiving(stream.fileno(), forgiven)
        lines = bool(stream.line_buffering)
        return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, "replace", line_buffering=lines)
    # another one that a caller in this process has put there
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    return stream
