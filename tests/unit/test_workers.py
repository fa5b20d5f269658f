"""Tests that are shared out among workers are reported as pytest reports those that it runs itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import workers

FIRST = """\
import pathlib, pytest

@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pathlib.Path("made").open("a") as file:
        file.write("made\\n")
    return tmp_path_factory.mktemp("made")

def test_passes(made, tmp_path): assert made.parent == tmp_path.parent
def test_fails(made): print("said before"); assert [1] == [2]
@pytest.mark.skip(reason="of no use")
def test_skipped(): pass
"""
SECOND = """\
import pytest

@pytest.fixture
def broken():
    yield
    raise ValueError("too late")

def test_ends_badly(broken): pass
def test_subtests(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number != 1
"""
KILLED = "import os\ndef test_passes(): pass\ndef test_killed(): os.kill(os.getpid(), 9)\ndef test_never(): pass\n"
LEFT = """\
class Late:
    def __del__(self): raise RuntimeError("in the garbage")
def test_leaves_it():
    late = Late()
    late.itself = late
"""


def run(at: Path, *options: str, **files: str) -> subprocess.CompletedProcess[str]:
    """Let two workers run test files, as a person would in a directory of their own."""
    for name, text in files.items():
        (at / f"test_{name}.py").write_text(text)
    (at / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "workers", "-p", "no:hypothesispytest", "--workers", "2", *options],
        cwd=at,
        env={**os.environ, "PYTHONPATH": str(Path(workers.__file__).parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_outcome_is_reported(tmp_path: Path) -> None:
    """All outcomes are counted, a failure has its reason and output, and one process runs all tests of a file."""
    done = run(tmp_path, first=FIRST, second=SECOND)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 failed, 2 passed, 1 skipped, 1 error in" in done.stdout
    for text in ("assert [1] == [2]", "said before", "SUBFAILED(number='1')", "ValueError: too late"):
        assert text in done.stdout, text
    assert len((tmp_path / "made").read_text().splitlines()) == 1


def test_a_killed_worker_is_told(tmp_path: Path) -> None:
    """The run is no success where a process was ended, and the message names the test that it ran."""
    done = run(tmp_path, killed=KILLED)
    assert done.returncode == 3
    assert "a worker ended at test_killed.py::test_killed" in done.stdout + done.stderr


def test_an_error_in_the_garbage_of_the_last_test(tmp_path: Path) -> None:
    """What a test leaves behind fails the run when it is thrown away, also after the last one."""
    done = run(tmp_path, left=LEFT)
    assert done.returncode == 3
    assert "RuntimeError: in the garbage" in done.stderr
