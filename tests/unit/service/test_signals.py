"""Signals become an interrupt that is not lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from raggate.base.errors import UsageError
from raggate.service import signals
from tables import each_row


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    signals.install()
    for number, handler in before.items():
        signal.signal(number, handler)


@each_row("number", [signal.SIGINT, signal.SIGTERM])
def test_a_swallowed_interrupt_is_raised_again(number: signal.Signals) -> None:
    """An interrupt that was raised where nothing can be is raised again by the next look, and by every later one."""
    signals.install()
    signals.check()

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt, match=f"signal {int(number)}"):
            signals.check()


def test_an_interrupt_is_not_hidden_in_another_error() -> None:
    """What nobody expects after a signal came is the interrupt; without one, and where it is expected, it stays."""

    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            signal.raise_signal(signal.SIGINT)

    signals.install()
    with pytest.raises(RuntimeError, match="no signal"), signals.unwrapped():
        raise RuntimeError("no signal")
    with pytest.raises(KeyboardInterrupt), signals.unwrapped():
        type("Made", (), {"field": Interrupted()})
    with pytest.raises(KeyboardInterrupt), signals.unwrapped():
        raise ValueError("made of the interrupt")
    with pytest.raises(UsageError), signals.unwrapped():
        raise UsageError("expected")


def test_a_signal_after_the_verdict_is_noted() -> None:
    """After the verdict the first signal waits: for the next one, or until something else is to be measured."""
    signals.install()
    signals.settle()
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signals.install()
    signals.settle()
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        signals.go_on()


def test_what_is_ignored_stays_ignored() -> None:
    """A signal that the process was started to ignore, as in the background of a shell, stays ignored."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signals.install()
    signal.raise_signal(signal.SIGINT)
    signals.check()


def test_while_it_still_starts() -> None:
    """An interrupt while the program is still being loaded is said in one line, with the exit code of interruptions."""
    code = """
import signal, sys, threading, importlib.abc

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "click":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Slow())
from raggate.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "raggate: interrupted\n")


@each_row("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_during_the_exit(number: signal.Signals) -> None:
    """A second signal while an interrupted program ends changes neither its exit code nor what it says."""
    code = f"""
import atexit, signal, sys
from raggate.cli import init
from raggate.__main__ import main

def interrupted(*_, **__):
    signal.raise_signal({int(number)})

init.write_example = interrupted
atexit.register(signal.raise_signal, {int(number)})
sys.argv[1:] = ["init"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "raggate: interrupted")
