"""Progress: few lines without a terminal, a vanishing bar on one."""

from __future__ import annotations

import io
import re
from contextlib import suppress

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


def lines(total: int, *, failed: int) -> list[str]:
    """Count to the total without a terminal; give the lines."""
    stream = io.StringIO()
    with Progress(stream) as progress:
        for done in range(1, total + 1):
            progress.advance(done, total, failed)
    return stream.getvalue().splitlines()


@each_row("total", [1, 2, 3, 9, 10, 11, 12, 99, 101, 10_000])
def test_never_more_than_a_dozen_lines(total: int) -> None:
    """Whatever the number of questions, there is a line for each tenth at most, and the last one is complete."""
    shown = lines(total, failed=1)
    assert len(shown) <= 10
    assert shown[-1] == f"raggate: asked {total} of {total}, 1 failed"


def test_bar_shows_counts_and_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a bar shows the counts; it erases its line and shows the cursor, also after an exception."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    with suppress(KeyboardInterrupt), Progress(stream) as progress:
        for done in range(1, 151):
            progress.advance(done, 150, 2)
        raise KeyboardInterrupt
    text = stream.getvalue()
    assert "150/150, 2 failed" in text
    assert text.endswith("\x1b[2K")
    assert "\x1b[?25h" in text
    assert not re.search(r"[^\x00-\x7f━╸╺]", text)


def test_a_reader_that_is_gone_does_no_harm() -> None:
    """A broken pipe does not end the run."""
    with Progress(Gone()) as progress:
        progress.advance(1, 1, 0)
