"""Forks: they end with what their work came to, hear no signal of this process, and none stays."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from raggate.service import forked_processes
from tables import each_row


def fails() -> None:
    """Raise what nobody expects."""
    raise RuntimeError


@each_row(("work", "code"), [(lambda: "anything", 0), (fails, 1)])
def test_exit_code(work: Callable[[], object], code: int) -> None:
    """A fork that raised ends with 1, and goes on with nothing of this process."""
    processes: list[int] = []
    forked_processes.start(work, processes)
    _, status = os.waitpid(processes[0], 0)
    assert os.waitstatus_to_exitcode(status) == code


def test_none_stays() -> None:
    """A fork that would never end is ended, also when something is raised meanwhile."""
    pids: list[int] = []

    def interrupted() -> None:
        with forked_processes.running() as processes:
            forked_processes.start(signal.pause, processes)
            pids.extend(processes)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        interrupted()
    with pytest.raises(ChildProcessError):
        os.waitpid(pids[0], 0)


def test_signals() -> None:
    """A fork ignores SIGINT and ends by SIGTERM; here both are heard again."""
    read, write = os.pipe()

    def waits() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.write(write, b"still here")
        signal.pause()

    with forked_processes.running() as processes:
        forked_processes.start(waits, processes)
        assert os.read(read, 10) == b"still here"
        os.kill(processes[0], signal.SIGTERM)
        _, status = os.waitpid(processes.pop(), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGINT, signal.SIGTERM}
    os.close(read)
    os.close(write)


def test_a_fork_ends_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork of a process that is killed, and can end nothing any more, ends by itself."""
    monkeypatch.setattr(forked_processes, "_LOOK_SECONDS", 0.01)
    read, write = os.pipe()

    def works() -> None:
        forked_processes.end_with(parent=os.getppid())
        os.write(write, b"x")
        while True:
            signal.pause()

    def parent() -> None:
        forked_processes.start(works, [])
        signal.pause()

    with forked_processes.running() as processes:
        forked_processes.start(parent, processes)
        os.close(write)
        assert os.read(read, 1) == b"x"
    # the pipe ends with the last process that could write to it
    assert os.read(read, 1) == b""
    os.close(read)
