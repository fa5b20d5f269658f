"""How far asking has come: a bar on a terminal, a handful of plain lines anywhere else."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from raggate.text.numbers import fixed

if TYPE_CHECKING:
    from rich.progress import Progress as Bar, TaskID

STEPS = 10
"""Lines for a whole run where there is no terminal."""


class Progress:
    """Shows counts only, no foreign text. The bar vanishes at the end; the lines stay.

    Args:
        stream: where to write; standard error by default. A stream that is gone is ignored.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._step = 0

    def __enter__(self) -> Self:
        if self._stream.isatty():
            self._bar = _bar(self._stream)
            self._task = self._bar.add_task("asking", total=None, failed=0)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def advance(self, done: int, total: int, failed: int) -> None:
        """Show that `done` of `total` calls are through, `failed` of them without an answer. Cheap to call."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, failed=failed)
            return
        step = done * STEPS // max(total, 1)
        if step > self._step:
            self._step = step
            with suppress(OSError):
                self._stream.write(f"raggate: asked {done} of {total}, {failed} failed\n")
                self._stream.flush()


def _bar(stream: TextIO) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Calls per second."""

        def render(self, task: Task) -> Text:
            return Text(f"{fixed(task.speed, 0)}/s" if task.speed else "")

    return Progress(
        TextColumn("asking"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}, {task.fields[failed]} failed"),
        Rate(),
        console=Console(file=stream),
        transient=True,
        refresh_per_second=5,
        redirect_stdout=False,
        redirect_stderr=False,
    )
