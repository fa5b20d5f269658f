"""How whatever ends a front end becomes an exit code, and what is said of it."""

from __future__ import annotations

import errno
import importlib.util
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from unittest import mock

import click
import pytest

from raggate.base.errors import CannotTell, Interrupted, UsageError
from raggate.cli import main
from raggate.frontends import console
from raggate.pipeline.request import RunResult
from tables import each_row


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def work() -> NoReturn:
        raise error

    return work


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("code", [0, 1, 4])
def test_a_verdict_is_said_by_whoever_has_it(code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Work that ends keeps its exit code, and nothing is printed."""
    assert console.guarded(lambda: code, {}) == (code, None)
    assert capsys.readouterr() == ("", "")


@each_row(
    ("error", "code", "said"),
    [
        (UsageError("no"), 2, "usage error: no"),
        (CannotTell("no"), 3, "cannot tell: no"),
        (Interrupted("no"), 130, "interrupted: no"),
        (KeyboardInterrupt(), 130, "interrupted"),
        # a file that cannot be written is no bug
        (OSError(errno.ENOSPC, "full", "some/x"), 3, "cannot tell: some/x: full"),
    ],
)
def test_an_expected_end(error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An error is printed with its label, and given back with its exit code; an interrupt is none."""
    assert console.guarded(raising(error), {})[0] == code
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", f"raggate: {said}")


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), OSError(errno.ENOENT, "gone"), click.Abort()])
def test_a_bug(
    error: Exception, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anything else is a bug of raggate: 70, no error that a report could tell, and the details in a file."""
    monkeypatch.chdir(tmp_path)
    assert console.guarded(raising(error), {}) == (70, None)
    assert f"raggate: internal error: {type(error).__name__}" in capsys.readouterr().err
    assert (tmp_path / ".raggate" / "crash.log").exists()


def test_the_log_of_an_error_is_fenced(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of a foreign log are printed inside the fence, the message and the hint outside."""

    @contextmanager
    def fence():  # type: ignore[no-untyped-def]
        click.echo("[", err=True)
        yield
        click.echo("]", err=True)

    console.guarded(raising(CannotTell("no", hint="Do.", log=("one", "two"))), {}, fence)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "raggate: cannot tell: no"
    assert lines[2:] == ["[", "  | one", "  | two", "]", "  Do."]


def test_a_mistake_in_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    """What click refuses is a usage error as any other, with the help to look at, and no command of a runner."""
    assert main.run_command(["labels", "score", "x", "--task", "y\n  ::error::z"]) == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("raggate: usage error: Invalid value for '--task': 'y")
    assert rest[-1] == "  See `raggate labels score --help`."
    assert not any(line.lstrip().startswith("::error::") for line in rest)


def test_a_run_directory_with_a_hostile_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A path is one line, and none that a runner takes for a command."""
    run = mock.Mock(stopped=None, results=(), selection=None)
    console.show_run(RunResult(run=run, directory=tmp_path / "o\n::add-mask::pass\u202e##[error]x"))
    (line,) = capsys.readouterr().out.splitlines()
    assert "::add-mask" not in line
    assert "##[" not in line
    assert "\u202e" not in line


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("x.so: failed to map segment from shared object"),
        caused(ValueError("x"), MemoryError()),
    ],
)
def test_too_little_memory(error: Exception, capfd: pytest.CaptureFixture[str]) -> None:
    """However the system refuses memory, it is 70 and says so, without a report of a bug."""
    with mock.patch.object(console, "_report_crash", raising(AssertionError())):
        assert console.guarded(raising(error), {}) == (70, None)
    err = capfd.readouterr().err
    assert err.startswith("raggate: internal error: too little memory")
    assert "AssertionError" not in err


@pytest.mark.parametrize(
    ("second", "said"), [(MemoryError(), "too little memory"), (KeyError("x"), "ZeroDivisionError, and KeyError")]
)
def test_a_crash_report_that_fails(second: Exception, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A report of a bug that fails itself changes no exit code, and its own failure is said."""
    with mock.patch.object(console, "_report_crash", side_effect=second):
        assert console.guarded(raising(ZeroDivisionError("y")), {}) == (70, None)
    assert said in capfd.readouterr().err


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the libraries of its extra a command ends with exit 2, and says what to install."""
    find = importlib.util.find_spec
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name))
    assert main.run_command(["label", "--as", "ann"]) == 2
    shown = capsys.readouterr().err
    assert "uvicorn, which are not installed\n  Install what is missing: python3 -m pip install " in shown
