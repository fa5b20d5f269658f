"""A start that is forked from a process with raggate imported is, to whoever starts it, what a true start is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import preloaded
from project import Project

Start = Callable[..., "preloaded.Process | subprocess.Popen[str]"]


def true_start(*arguments: str, at: Path, environment: dict[str, str], **streams: int) -> subprocess.Popen[str]:
    """Start an interpreter that imports raggate."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    words = [sys.executable, "-m", "raggate", *arguments]
    return subprocess.Popen(words, cwd=at, env=environment, stdin=subprocess.DEVNULL, text=True, **piped)


@pytest.fixture(scope="module")
def worse(promoted_once: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository whose last run is a regression, which is told again and changes by nothing of it."""
    project = promoted_once.copied(tmp_path_factory.mktemp("worse"))
    assert project.command("check", FAKE_BEHAVIOUR="worse").code == 1
    return project


def outcome(start: Start, project: Project, *arguments: str, **streams: int) -> tuple[object, ...]:
    """Return exit code, output and files of a command that is run in the repository."""
    environment = {**os.environ, "COLUMNS": "90"}
    process = start(*arguments, at=project.root, environment=environment, **streams)
    out, err = process.communicate(timeout=60)
    files = {path: path.read_bytes() for path in sorted(project.root.rglob("*")) if path.is_file()}
    return process.returncode, out or "", err or "", files


def agreed(project: Project, *arguments: str, **streams: int) -> tuple[object, ...]:
    """See that both starts come to the same, which is then given."""
    forked = outcome(preloaded.start, project, *arguments, **streams)
    assert outcome(true_start, project, *arguments, **streams) == forked
    return forked


def test_the_same_outcome(worse: Project) -> None:
    """A regression that is compared anew prints and writes the same, byte for byte, with the same exit code."""
    directory = str(worse.last_run().relative_to(worse.root))
    code, out, err, _ = agreed(worse, "compare", directory)
    assert code == 1
    assert "Questions that broke (24)" in out
    assert err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_same_end_by_a_signal(promoted_once: Project, tmp_path: Path, number: signal.Signals) -> None:
    """A signal that is handled ends it by its exit code, and one that is not as what it is, in the same group."""
    ends = []
    for start in (preloaded.start, true_start):
        project = promoted_once.copied(tmp_path / start.__name__)
        process = start("check", at=project.root, environment={**os.environ, "FAKE_BEHAVIOUR": "hang_after:6"})
        assert process.stderr is not None
        assert any("asked 3 of 24" in line for line in process.stderr)
        assert process.poll() is None
        groups = (os.getpgid(process.pid), os.getsid(process.pid))
        assert groups == (os.getpgid(0), os.getsid(0))
        process.send_signal(number)
        process.communicate(timeout=30)
        ends.append(process.returncode)
    assert ends == [130 if number != signal.SIGKILL else -signal.SIGKILL] * 2


def test_variables_that_an_interpreter_starts_with_are_refused(tmp_path: Path) -> None:
    """What only a true start can heed is not passed over."""
    with pytest.raises(AssertionError, match="need an interpreter that starts with them"):
        preloaded.start("lint", at=tmp_path, environment={**os.environ, "PYTHONHASHSEED": "1"})
