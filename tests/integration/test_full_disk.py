"""A disk that is full or closed is told as what it is, wherever raggate writes: never a bug, never a verdict."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

import preloaded
from project import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A small repository without a baseline."""
    return make_project(tmp_path, notes=2)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """Yield a directory on a file system of its own that has no room left but for a few small files."""
    place = tmp_path / "full"
    place.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_under_the_run_directories(project: Project, full: Path) -> None:
    """A file system that fills up during a run ends it with exit 3, naming a file, the cause and the space left."""
    done = project.raggate("check", "--out", str(full), FAKE_BEHAVIOUR="")
    assert done.code == 3, done.err
    assert f"raggate: cannot tell: {full}/" in done.err
    assert "No space left on device\n" in done.err
    assert "TMPDIR" in done.err
    assert "bug" not in done.err
    assert not [path for path in full.rglob("*") if path.suffix == ".tmp"]


def test_a_limit_on_the_size_of_files(project: Project) -> None:
    """A limit on the size of files that a result is larger than ends the run with exit 3 and names the file."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); "
    code += "from raggate.__main__ import main; main()"
    process = preloaded.start("check", at=project.root, environment={**os.environ}, code=code)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert ".jsonl: File too large\n" in err
    assert "ulimit -f" in err


# what else the system says of a disk is told in the same way: `unit/base/test_files.py` has them all
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (errno.ENOSPC, "golden.jsonl"),
        (errno.EROFS, "golden.jsonl"),
        (errno.EACCES, "metrics.json"),
        (errno.EDQUOT, "verdict.json"),
    ],
    ids=lambda value: errno.errorcode.get(value, value),
)
def test_whichever_file_cannot_be_written(
    number: int, name: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever keeps a file from being written, it ends with exit 3, the file's name and the system's words."""

    def fail(_: int) -> NoReturn:
        raise OSError(number, os.strerror(number))

    whole = os.fsync
    monkeypatch.setattr("os.fsync", lambda handle: fail(handle) if f".{name}." in _path(handle) else whole(handle))
    done = project.command("check")
    assert done.code == 3, done.err
    # what is left of the room is told where it is the room that lacks
    assert f"{name}: {os.strerror(number)}\n" in done.err
    assert not list(project.last_run().glob(".*.tmp"))


def test_another_error_of_the_system_is_a_bug(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that no disk explains is still told as a bug."""

    def fail(_: int) -> NoReturn:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("os.fsync", fail)
    assert project.command("check").code == 70


def _path(handle: int) -> str:
    return str(Path(f"/proc/self/fd/{handle}").readlink())
