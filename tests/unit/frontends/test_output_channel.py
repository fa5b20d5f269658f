"""The log of a step is a command channel: nothing that comes from the API, the notes or a pull request is a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from msgspec.structs import replace

from e2e import grammar
from raggate.action import steps
from raggate.base.errors import CannotTell
from raggate.frontends import console
from raggate.reports import terminal
from reviews import hostile, review
from tables import each_row

FORGED = (
    "::error::x ##[error]x ::set-output\u2003name=a::b ##[set-output name=a]b ::add-mask::a ::stop-commands::a".split()
)
PIECES = st.sampled_from(
    [*FORGED, "\r", "\n", "\r\n", "\u2028", "\x85", "\x0b", "\0", "\x1b[2K", " ", "\u3000", "\ufeff", "#", ":"]
)
TEXT = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


def commands(text: str) -> list[grammar.Command]:
    """Return what the runner would execute."""
    return grammar.Log().feed(text).commands


@each_row("color", [False, True])
@each_row("width", [60, 140])
def test_the_report_of_a_hostile_run(width: int, *, color: bool) -> None:
    """Questions, headings and notes full of commands are printed without one."""
    assert commands(terminal.render(hostile(), width=width, color=color)) == []


@given(TEXT, TEXT, st.lists(TEXT, max_size=4))
@example("::error::x", "##[error]x", ["\r::error::x", " \u3000::add-mask::a"])
def test_an_error_with_foreign_text(message: str, hint: str, log: list[str]) -> None:
    """An error that quotes the API, its answer or its log is printed without a command."""
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.echo", lambda text, **_: lines.append(f"{text}\n"))
        console.say_error(CannotTell(message, hint=hint, log=tuple(log)))
    assert lines
    assert commands("".join(lines)) == []


def test_the_log_of_an_api_that_died_on_the_way_is_fenced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Beside a verdict the API's log goes to the fenced stream alone, as in an error; the report does not repeat it."""
    monkeypatch.chdir(tmp_path)
    result = review("cannot-tell")
    lines = ("panic: index out of range", "any::thing ##[group]")
    dead = replace(result, run=replace(result.run, log=lines))
    console.show_review(dead, tmp_path, {}, fence=steps.fence)
    out, err = capsys.readouterr()
    first, *inside, last = err.splitlines()[-4:]
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    assert [line.startswith("  | ") for line in inside] == [True, True]
    assert "panic" in inside[0]
    assert "panic" not in out
