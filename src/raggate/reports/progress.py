"""How far asking has come: a bar on a terminal, a handful of plain lines anywhere else."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Self, TextIO

from raggate.base.numbers import fixed

STEPS = 10
"""Lines for a whole run where there is no terminal."""

_CELLS = 40
_SECONDS = 0.2  # between two pictures of the bar
_HIDE, _SHOW, _ERASE = "\x1b[?25l", "\x1b[?25h", "\r\x1b[2K"


class Progress:
    """Shows counts only, no foreign text. The bar vanishes at the end, the lines stay; a closed stream is ignored."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar = self._stream.isatty()
        self._step = 0
        self._begun = self._drawn = time.monotonic()

    def __enter__(self) -> Self:
        if self._bar:
            self._write(f"{_HIDE}asking")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar:
            self._write(f"{_SHOW}{_ERASE}")

    def advance(self, done: int, total: int, failed: int) -> None:
        """Show that `done` of `total` calls are through, `failed` of them without an answer. Cheap to call."""
        if self._bar:
            now = time.monotonic()
            if now - self._drawn >= _SECONDS or done == total:
                self._drawn = now
                self._write(_ERASE + self._line(done, total, failed, now - self._begun))
            return
        step = done * STEPS // max(total, 1)
        if step > self._step:
            self._step = step
            self._write(f"raggate: asked {done} of {total}, {failed} failed\n")

    def _line(self, done: int, total: int, failed: int, seconds: float) -> str:
        """Return the bar with its counts, cut to the terminal: a longer line could not be erased."""
        rate = f" {fixed(done / seconds, 0)}/s" if seconds else ""
        bar = ("━" * (done * _CELLS // max(total, 1))).ljust(_CELLS)
        return f"asking {bar} {done}/{total}, {failed} failed{rate}"[: shutil.get_terminal_size().columns - 1]

    def _write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
