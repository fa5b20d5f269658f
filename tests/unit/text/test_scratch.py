"""What a killed process has left is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raggate.text import scratch

HOLDS = """
import sys
from raggate.text.scratch import scratch_directory
with scratch_directory() as place:
    (place / "note.md").write_text("private")
    print(place, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory for temporary ones."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def left_by_a_killed_process(temporary: Path) -> Path:
    """Return the directory of a process that was killed two hours ago."""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        top = Path(process.stdout.readline().strip()).parent
        aged(top)
        # as long as it lives nobody takes it away
        with scratch.scratch_directory():
            assert (top / "files" / "note.md").exists()
        process.send_signal(signal.SIGKILL)
    assert top.exists()
    return aged(top)


def aged(top: Path, hours: float = 2) -> Path:
    """Let a directory have been made earlier."""
    then = time.time() - hours * 3600
    os.utime(top, (then, then))
    return top


def swept() -> None:
    """Begin as a new process does."""
    scratch._sweep.cache_clear()
    with scratch.scratch_directory():
        pass


def test_what_a_killed_process_left(temporary: Path) -> None:
    """Its copies go with the next run, and not while it lives."""
    top = left_by_a_killed_process(temporary)
    swept()
    assert not top.exists()
    assert [*temporary.iterdir()] == []


KEPT: dict[str, Callable[[Path], object]] = {
    "young": lambda top: aged(top, hours=0.5),
    "without the mark": lambda top: (top / scratch._HELD).unlink(),
    "a link for a mark": lambda top: ((top / scratch._HELD).unlink(), (top / scratch._HELD).symlink_to(top / "files")),
    "a pipe for a mark": lambda top: ((top / scratch._HELD).unlink(), os.mkfifo(top / scratch._HELD)),
    "open to others": lambda top: top.chmod(0o755),
    "of another name": lambda top: top.rename(top.with_name("other")),
}


@pytest.mark.parametrize("case", KEPT)
def test_what_may_be_somebody_s(temporary: Path, case: str) -> None:
    """What is young, has no mark, or lies open to others is not touched."""
    top = temporary / "raggate-abc"
    (top / "files").mkdir(parents=True, mode=0o700)
    top.chmod(0o700)
    (top / scratch._HELD).touch(0o600)
    aged(top)
    KEPT[case](top)
    if case != "young":
        aged(top if top.exists() else top.with_name("other"))
    swept()
    assert [path.name for path in temporary.iterdir()] == ["other" if case == "of another name" else "raggate-abc"]


@pytest.mark.parametrize("error", [RecursionError("folders a thousand deep"), PermissionError("a mount")])
def test_what_cannot_be_removed(temporary: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Attack: what somebody has left and nothing removes, as folders too deep inside one another, ends no later run."""
    top = temporary / "raggate-abc"
    top.mkdir(mode=0o700)
    (top / scratch._HELD).touch(0o600)
    aged(top)

    asked, remove = [], shutil.rmtree

    def refuses(place: str | Path, **options: Any) -> None:
        if place != top:
            remove(place, **options)
            return
        asked.append(place)
        raise error

    monkeypatch.setattr(scratch.shutil, "rmtree", refuses)
    swept()
    assert asked == [top]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_another_user_has(temporary: Path) -> None:
    """Root leaves alone what somebody else has in a directory for all."""
    top = temporary / "raggate-abc"
    top.mkdir(mode=0o700)
    (top / scratch._HELD).touch(0o600)
    os.chown(top, 1234, 1234)
    aged(top)
    swept()
    assert top.exists()


def test_a_link_is_followed_nowhere(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A link of such a name stays, and so does what it leads to."""
    target = tmp_path_factory.mktemp("elsewhere")
    (target / scratch._HELD).touch(0o600)
    target.chmod(0o700)
    aged(target)
    (temporary / "raggate-link").symlink_to(target)
    swept()
    assert (target / scratch._HELD).exists()


def test_a_file_system_without_locks(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing tells whether a process lives, its directory has no mark, and so is never taken away."""

    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(scratch.fcntl, "flock", unsupported)
    with scratch.scratch_directory() as place:
        assert [path.name for path in place.parent.iterdir()] == ["files"]
