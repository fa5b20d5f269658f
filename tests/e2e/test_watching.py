"""`raggate check --watch` as somebody has it in a terminal: a change is asked, and an interrupt ends it with 130."""

from __future__ import annotations

import signal
import time

from preloaded import Process
from project import Project, processes_with


def runs(project: Project) -> int:
    """Count the run directories that have a verdict."""
    return len(list((project.root / ".raggate" / "runs").glob("*/verdict.json")))


def until_it_waits(project: Project, process: Process, so_many: int) -> None:
    """Wait until so many checks are done, and a moment more in which the watch begins."""
    for _ in range(300):
        assert process.poll() is None
        if runs(project) >= so_many:
            time.sleep(0.5)
            return
        time.sleep(0.1)
    raise AssertionError(f"{runs(project)} checks, expected {so_many}")


def test_a_change_is_asked_and_an_interrupt_ends_it(promoted: Project) -> None:
    """Another question is asked as soon as it is written, a broken file is told, and nothing is left running."""
    process = promoted.start("check", "--watch", "-k", "kernel")
    until_it_waits(promoted, process, 1)
    golden = promoted.root / "golden.jsonl"
    text = golden.read_text()
    golden.write_text("not json\n")
    time.sleep(3)
    golden.write_text(text.replace("kernel matter one", "Kernel matter one"))
    until_it_waits(promoted, process, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert out.count("verdict: ") == 2
    assert "golden.jsonl changed: asking again" in err
    assert "golden.jsonl:1: " in err
    assert processes_with(str(promoted.root)) == []
