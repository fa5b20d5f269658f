"""The first process of a container: signals reach the work, orphans are collected, and the end comes in time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tables import each_row

SRC = Path(__file__).parents[3] / "src"
HEAD = f"""
import os, signal, sys, time
sys.path.insert(0, {str(SRC)!r})
from raggate.action.init_process import supervised
def ready():
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
    print("ready", flush=True)
def wait():
    # a signal just before one long sleep would be noticed only after it
    for _ in range(600):
        time.sleep(0.05)
"""


def started(body: str, *, grace: float = 5.0) -> subprocess.Popen[str]:
    """Start a program whose `work` is supervised, and wait until the work is ready for signals."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", f"{HEAD}{body}\nsys.exit(supervised(work, grace={grace}))"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def ended(process: subprocess.Popen[str]) -> int:
    """Wait for the end and give the exit code."""
    with process:
        return process.wait(20)


@each_row("code", [0, 1, 3, 70, 130])
def test_the_code_of_the_work_is_the_code_of_the_process(code: int) -> None:
    """The exit code comes through."""
    assert ended(started(f"def work():\n    ready()\n    return {code}")) == code


@each_row("number", [signal.SIGINT, signal.SIGTERM])
def test_either_signal_interrupts_the_work(number: signal.Signals) -> None:
    """SIGINT alone and SIGTERM alone reach the work, which ends as it likes."""
    body = """
def work():
    try:
        ready()
        wait()
    except KeyboardInterrupt:
        return 42"""
    process = started(body)
    process.send_signal(number)
    assert ended(process) == 42


def test_work_that_ignores_signals_is_killed_in_time() -> None:
    """Work that does not end is killed when the grace is over, and counts as interrupted."""
    body = "def work():\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n    ready()\n    time.sleep(60)"
    process = started(body, grace=0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert ended(process) == 130
    assert time.monotonic() - begin < 3


def test_work_that_is_killed_or_crashes_is_never_a_pass() -> None:
    """A killed child gives 128 and the signal, a crashed one the code of an internal error."""
    assert ended(started("def work():\n    ready()\n    os.kill(os.getpid(), 9)")) == 137
    assert ended(started("def work():\n    ready()\n    raise ValueError")) == 70


def test_what_the_work_raises_is_told() -> None:
    """Work that raises says what, by whatever means it is given for that, before its process ends with 70."""
    for how, expected in (("", "ValueError: broken"), (", crashed=lambda error: print(repr(error))", "('broken')")):
        body = f"{HEAD}def work():\n    raise ValueError('broken')\nsys.exit(supervised(work{how}))"
        words = [sys.executable, "-I", "-c", body]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
        assert done.returncode == 70
        assert expected in done.stdout + done.stderr


def test_orphans_are_collected() -> None:
    """A process that loses its parent, as the first process of a container gets them, does not stay as a zombie."""
    body = """
import ctypes
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come here, as to process 1
def parent_of(n):
    try:
        return open(f"/proc/{n}/stat").read().rpartition(")")[2].split()[1]
    except OSError:
        return "gone"
def work():
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
    ready()
    time.sleep(1)
    return sum(parent_of(n) == str(os.getppid()) for n in os.listdir("/proc") if n.isdigit() and int(n) != os.getpid())
"""
    assert ended(started(body)) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_child_reads_the_environment_of_a_closed_process() -> None:
    """A program that supervisor or work start as the same user reads the environment of neither, root or not."""
    body = """
import subprocess
from raggate.action.init_process import close_memory
READ = "import sys; print(sum(b'ghs_secret' in open(f'/proc/{pid}/environ', 'rb').read() for pid in sys.argv[1:]))"
def look():
    words = [sys.executable, "-I", "-c", READ, str(os.getpid()), str(os.getppid())]
    return subprocess.run(words, env={}, capture_output=True, text=True)
def work():
    ready()
    done = look()
    return 0 if "PermissionError" in done.stderr and not done.stdout else 1
"""
    environment = {"TOKEN": "ghs_secret"}
    for closed, code in (("close_memory()", 0), ("pass", 1)):
        words = [sys.executable, "-I", "-c", f"{HEAD}{body}\n{closed}\nsys.exit(supervised(work))"]
        assert subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=False).returncode == code
