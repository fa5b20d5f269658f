"""A process is named so that only its certain end is ever taken for one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from raggate.service.backends import lives

pytestmark = pytest.mark.skipif(lives.own() is None, reason="needs Linux with time namespaces")
# the module alone: its package loads every backend
NAME = "import runpy, sys; print(runpy.run_path(sys.argv[1])['own'](), flush=True); input()"


@pytest.fixture
def other() -> Iterator[subprocess.Popen[str]]:
    """Give a process that prints its name and lives until it is told."""
    words = [sys.executable, "-c", NAME, lives.__file__]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield process
        process.kill()


def named(process: subprocess.Popen[str]) -> str:
    """Read the name of a process."""
    assert process.stdout
    return process.stdout.readline().strip()


def test_alive_and_killed(other: subprocess.Popen[str]) -> None:
    """A process is over when it was killed, not before."""
    life = named(other)
    assert str(other.pid) in life.split()
    assert not lives.is_over(life)
    other.kill()
    other.wait()
    assert lives.is_over(life)
    assert not lives.is_over(str(lives.own()))


def test_a_number_that_came_again() -> None:
    """A process of the same number that was started at another time is not the one that was named."""
    scope, number, start = str(lives.own()).rsplit(" ", 2)
    assert lives.is_over(f"{scope} {number} {int(start) - 1}")


@pytest.mark.parametrize("place", range(3))
def test_elsewhere(other: subprocess.Popen[str], place: int) -> None:
    """Of another boot, or another namespace of numbers or time, nothing is known: its processes may live."""
    parts = named(other).split()
    other.kill()
    other.wait()
    assert lives.is_over(" ".join(parts))
    parts[place] = parts[place][::-1]
    assert not lives.is_over(" ".join(parts))


def test_hidden_processes(monkeypatch: pytest.MonkeyPatch, other: subprocess.Popen[str], tmp_path: Path) -> None:
    """A living process that /proc does not show is not over."""
    life = named(other)
    for name, target in (("self", str(os.getpid())), (str(os.getpid()), "/proc/self"), ("sys", "/proc/sys")):
        (tmp_path / name).symlink_to(target)
    monkeypatch.setattr(lives, "_PROC", tmp_path)
    assert lives.own() is not None
    assert not lives.is_over(life)


def test_processes_of_another_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where /proc is that of another container, no process is named at all."""
    for name, target in (("self", "1"), ("1", "/proc/self"), ("sys", "/proc/sys")):
        (tmp_path / name).symlink_to(target)
    monkeypatch.setattr(lives, "_PROC", tmp_path)
    assert lives.own() is None


def test_somebody_elses_process(monkeypatch: pytest.MonkeyPatch, other: subprocess.Popen[str]) -> None:
    """A process that may not be signalled is alive."""

    def refuse(*_: int) -> None:
        raise PermissionError

    life = named(other)
    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", refuse)
        assert not lives.is_over(life)


@given(text=st.text() | st.from_regex(r"[0-9a-f-]{1,3} \d+ \d+ -?\d+ \d+"), own_scope=st.booleans())
def test_any_text(text: str, *, own_scope: bool) -> None:
    """Whatever a label says, no group of processes and no impossible number is looked up, and nothing fails."""
    scope = str(lives.own()).rsplit(" ", 2)[0]
    number = text.split(" ")[-2:-1]
    over = lives.is_over(f"{scope} {text}" if own_scope else text)
    assert not over or (own_scope and number and int(number[0]) > 0)
