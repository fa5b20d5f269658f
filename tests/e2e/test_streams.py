"""Nobody reads the output, or there is none: the exit code is that of the verdict all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from preloaded import start
from project import Project, make_project

# how a shell's `2>&-` and the like start a program
CLOSING = "import os, sys; os.close(int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A small repository with a baseline."""
    made = make_project(tmp_path_factory.mktemp("project"))
    made.promote()
    return made


@contextmanager
def unread() -> Iterator[int]:
    """Return the writing end of a pipe whose reader has left."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


def check(project: Project, *words: str, behaviour: str = "ok", **streams: int) -> int:
    """Run raggate with these streams, the others piped away, and give its exit code."""
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    environment = {**os.environ, "FAKE_BEHAVIOUR": behaviour}
    return start(*(words or ("check",)), at=project.root, environment=environment, **streams).wait(60)


@pytest.mark.parametrize(("behaviour", "code"), [("ok", 0), ("worse", 1), ("error_500", 3)])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_left(project: Project, stream: str, behaviour: str, code: int) -> None:
    """`raggate check | head -1` ends with the code of its verdict, and so does one whose messages nobody reads."""
    with unread() as writing:
        assert check(project, behaviour=behaviour, **{stream: writing}) == code


def test_a_usage_error_that_nobody_reads(project: Project) -> None:
    """A usage error stays one when it cannot be told."""
    with unread() as writing:
        assert check(project, "check", "--config", "none.yml", stderr=writing) == 2


NO_CONFIGURATION = ("--config", "none.yml")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("stream", "words", "code"),
    [
        pytest.param("stderr", (), 0, id="messages of a pass"),
        pytest.param("stderr", NO_CONFIGURATION, 2, id="messages of a usage error"),
        pytest.param("stdout", (), 3, id="the report"),
        pytest.param("stdout", ("--json",), 3, id="the document"),
        pytest.param("stdout", ("--json", *NO_CONFIGURATION), 3, id="the document of a usage error"),
    ],
)
def test_no_room(project: Project, stream: str, words: tuple[str, ...], code: int) -> None:
    """On a full disk lost messages change no exit code, and a report that cannot be written is no verdict."""
    with Path("/dev/full").open("wb") as full:
        assert check(project, "check", *words, **{stream: full.fileno()}) == code


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_a_stream_that_is_closed(project: Project, descriptor: int) -> None:
    """A closed standard stream is no bug of raggate, and no file of the run takes its place."""
    done = subprocess.run(
        [sys.executable, "-c", CLOSING, str(descriptor), "-m", "raggate", "check"],
        cwd=project.root,
        env={**os.environ, "FAKE_BEHAVIOUR": "ok"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all("nothing gated is worse" not in path.read_text().lower() for path in project.last_run().glob("*.jsonl"))
