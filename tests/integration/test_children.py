"""A program that is forked for a check is, to the check and to itself, what one that was started is."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import children
from project import processes_with
from raggate.service.backends import processes
from raggate.service.backends.processes import Log, ProcessGroup

TELLS = """\
import os, signal, sys
print([__name__, __file__, *sys.argv, os.getcwd(), sys.stdin.read()])
print(sorted(os.environ), os.getsid(0) == os.getpgid(0) == os.getpid(), signal.getsignal(signal.SIGTERM))
print("an error", file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program that tells what it was given."""
    path = tmp_path / "tells.py"
    path.write_text(TELLS)
    return path


@contextmanager
def a_group(directory: Path, *, forked: bool) -> Iterator[tuple[ProcessGroup, Log]]:
    """Start processes in a group, forked or not."""
    name = str(forked)
    with Log(directory / f"{name}.log") as log:
        if not forked:
            with ProcessGroup({}) as group:
                yield group, log
            return
        with children.forked(), ProcessGroup({}) as group:
            yield group, log


def test_the_same_process(script: Path, tmp_path: Path) -> None:
    """Words, directory, variables, streams, session and exit code are the same."""
    told = []
    for forked in (True, False):
        with a_group(tmp_path, forked=forked) as (group, log):
            child = group.start(
                [sys.executable, "-S", str(script), "one", "two words"],
                cwd=tmp_path,
                environment={"LC_CTYPE": "C.UTF-8"},
                log=log,
            )
            assert child.wait(20) == processes.ProcessExit(message="exited with code 7", code=7)
        told.append((tmp_path / f"{forked}.log").read_text())
    # what is written to one of two streams comes when it is flushed
    assert "two words" in told[0]
    assert sorted(told[0].splitlines()) == sorted(told[1].splitlines())


@pytest.mark.parametrize("forked", [True, False])
def test_nothing_is_left(tmp_path: Path, forked: bool) -> None:
    """What ignores SIGTERM and what was started in a session of its own is gone with the group, also when forked."""
    stays, pid_file = tmp_path / "stays.py", tmp_path / "pid"
    stays.write_text(
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '100'], start_new_session=True)\n"
        "open(sys.argv[1], 'w').write(f'{child.pid} \\n')\n"
        "time.sleep(100)\n"
    )
    with a_group(tmp_path, forked=forked) as (group, log):
        words = [sys.executable, "-S", str(stays), str(pid_file)]
        child = group.start(words, cwd=tmp_path, environment={"PATH": os.environ["PATH"], "OF": str(pid_file)}, log=log)
        deadline = time.monotonic() + 20
        while not (pid_file.exists() and pid_file.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.01)
        # what was started this moment has no environment yet
        while len(processes_with(str(pid_file))) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert {*processes_with(str(pid_file))} == {child.pid, int(pid_file.read_text())}
        os.kill(child.pid, signal.SIGUSR1)
        assert child.wait(20) == processes.ProcessExit(message="was killed by SIGUSR1", signal="SIGUSR1")
    assert processes_with(str(pid_file)) == []
