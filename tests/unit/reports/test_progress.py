"""Progress: few lines without a terminal, a vanishing bar on one."""

from __future__ import annotations

import io
import re

import pytest

from raggate.reports.progress import Progress
from tables import each_row


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Claim it."""
        return True


class Gone(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, text: str) -> int:
        """Fail as a closed pipe does."""
        raise BrokenPipeError


def lines(total: int, *, failed: int = 0, upto: int | None = None) -> list[str]:
    """Count to `upto` of `total` without a terminal; give the lines."""
    stream = io.StringIO()
    with Progress(stream) as progress:
        for done in range(1, (total if upto is None else upto) + 1):
            progress.advance(done, total, failed)
    return stream.getvalue().splitlines()


def test_lines_come_every_tenth() -> None:
    """150 questions give ten lines with the counts."""
    shown = lines(150)
    assert shown[2] == "raggate: asked 45 of 150, 0 failed"
    assert shown[-1] == "raggate: asked 150 of 150, 0 failed"
    assert len(shown) == 10


@each_row("total", [1, 2, 3, 9, 10, 11, 12, 99, 101, 10_000])
def test_never_more_than_a_dozen_lines(total: int) -> None:
    """Whatever the number of questions, there are few lines and the last one is complete."""
    shown = lines(total, failed=1)
    assert len(shown) <= 12
    assert shown[-1] == f"raggate: asked {total} of {total}, 1 failed"


def test_bar_shows_counts_and_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a bar shows the counts, and its last act is to erase its line."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    with Progress(stream) as progress:
        for done in range(1, 151):
            progress.advance(done, 150, 2)
    text = stream.getvalue()
    assert "150/150, 2 failed" in text
    assert text.endswith("\x1b[2K")
    assert "\x1b[?25h" in text
    assert not re.search(r"[^\x00-\x7f━╸╺]", text)


def test_bar_is_taken_down_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception leaves the cursor visible and no bar behind."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress(stream)
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    assert stream.getvalue().rindex("\x1b[?25h") > stream.getvalue().rindex("\x1b[?25l")


def test_a_reader_that_is_gone_does_no_harm() -> None:
    """A broken pipe does not end the run."""
    with Progress(Gone()) as progress:
        progress.advance(1, 1, 0)
