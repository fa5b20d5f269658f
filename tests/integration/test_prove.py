"""raggate prove from the command line to the exit code, with a fake API and with faults that it declares."""

from __future__ import annotations

import json
import signal
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from here import Done
from project import FAKE_API, Project, make_project, make_small_project, processes_with
from raggate.pipeline.asking import Booted, booted
from raggate.prove import faults, proof as gate_proof

WORSE = "faults: {worse: {FAKE_BEHAVIOUR: worse}}\n"
DEAD_TOO = WORSE.replace("{worse", "{dead: {FAKE_BEHAVIOUR: die_at_start}, worse")


def small_suite(root: Path) -> Project:
    """Make a repository with one question about each note, and without a baseline, which a proof does not need."""
    return make_project(root, questions=1)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository of six questions, for what few faults show."""
    return make_small_project(tmp_path)


@pytest.fixture
def few_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only a few faults be tried, where a test is not about which there are."""
    names = {"ranks reversed", "nothing returned"}
    monkeypatch.setattr(faults, "FAULTS", tuple(fault for fault in faults.FAULTS if fault.name in names))


def proof(project: Project) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((project.last_run() / "proof.json").read_text())
    return loaded


def configured(project: Project, text: str) -> Project:
    with project.config.open("a") as stream:
        stream.write(text)
    return project


@dataclass(frozen=True)
class Proved:
    """A repository with a proof: what raggate printed, and the document it left."""

    project: Project
    done: Done
    document: dict[str, Any]

    def fault(self, name: str, size: str = "") -> dict[str, Any]:
        (fault,) = [each for each in self.document["faults"] if (each["name"], each["size"]) == (name, size)]
        return fault


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Proved:
    """A proof on a healthy API with two declared faults, where two public notes have no question."""
    hidden = (
        "private: {places: [work/Notes/hidden.md]}\ninvariants: {private_withheld: off}\ngate: {policy: threshold}\n"
    )
    project = configured(small_suite(tmp_path_factory.mktemp("proved")), DEAD_TOO + hidden)
    (project.root / "vault" / "work" / "Notes" / "hidden.md").write_text("# Hidden\n\nNobody may ask about this.\n")
    for vault in ("personal", "work"):
        (project.root / "vault" / vault / "Notes" / "unasked.md").write_text("# Unasked\n\nNobody asks about this.\n")
    done = project.raggate("prove", "--runs", "3")
    return Proved(project, done, proof(project))


def test_a_sound_gate_is_proved(proved: Proved) -> None:
    """Faults are caught, none of the runs without one is red, and page, document and run are left."""
    done, stored = proved.done, proved.document
    assert done.code == 0, done.out + done.err
    assert "proof: holds (exit 0)" in done.out
    assert "the same build was asked 3 more times, none red" in done.out
    assert "3 of 3 runs without a fault, 0 false alarms" in done.err
    assert (stored["outcome"], stored["exit_code"], stored["repeats"]["made"]) == ("holds", 0, 3)
    assert stored["harmful_caught"] == stored["harmful"] >= 15
    assert proved.fault("ranks reversed", "the whole list")["verdict"] == "regression"
    assert proved.fault("a removed note comes back", "20% of the questions")["verdict"] == "invariant broken"
    assert proved.fault("calls fail", "10% of the calls")["verdict"] == "cannot tell"
    directory = proved.project.last_run()
    assert (directory / "proof.md").read_text().startswith("# What the gate catches\n")


def test_declared_faults_boot_the_api_again(proved: Proved) -> None:
    """One that makes it worse is caught, one that keeps it from starting is no pass, and the rest goes on."""
    assert "booting the API with worse" in proved.done.err
    worse, dead = proved.fault("worse"), proved.fault("dead")
    assert (worse["kind"], worse["verdict"], worse["harmed"]) == ("env", "regression", 1.0)
    assert (dead["verdict"], dead["harmed"], dead["drop"]) == ("cannot tell", 1.0, None)
    assert "exited with code 3" in dead["reasons"][0]["message"]
    assert (proved.project.last_run() / "faults" / "worse" / "api.log").exists()


@pytest.mark.usefixtures("few_faults")
def test_a_blind_gate_is_told_so(project: Project) -> None:
    """With a tolerance that nothing exceeds harmful faults are missed, which is exit 1, and each miss has a reason."""
    gate = "gate: {policy: threshold, tolerance: 1, slices: 'off'}\n"
    blind = f"{gate}invariants: {{notes_exist: 'off', text_in_note: 'off'}}\n"
    done = configured(project, blind).command("prove", "--runs", "1")
    assert done.code == 1, done.out + done.err
    assert "proof: does not hold (exit 1)" in done.out
    stored = proof(project)
    missed = [fault for fault in stored["faults"] if not fault["caught"]]
    assert stored["harmful_caught"] < stored["harmful"]
    assert all(fault["explanation"] for fault in missed)
    (reversed_list,) = [fault for fault in missed if fault["name"] == "ranks reversed"]
    assert "up to 100 pt is allowed" in reversed_list["explanation"]


def test_a_gate_that_is_red_anyway_proves_nothing(project: Project) -> None:
    """Where the API without a fault is no pass, nothing a fault does could be seen: exit 3, with the reason."""
    done = configured(project, "gate: {metrics: {hit_at_1: {floor: 1.5}}}\n").command("prove", "--runs", "1")
    assert done.code == 3, done.out + done.err
    assert "without any fault the verdict is already regression" in done.err
    assert "Make `raggate check` green first" in done.err
    assert not (project.last_run() / "proof.json").exists()


API = """\
import os, runpy, sys
os.environ.setdefault('FAKE_BEHAVIOUR', 'ok')
sys.path.insert(0, os.path.dirname(sys.argv[1]))
runpy.run_path(sys.argv[1], run_name='__main__')
"""
PATCH = """\
--- a/api.py
+++ b/api.py
@@ -1,4 +1,4 @@
 import os, runpy, sys
-os.environ.setdefault('FAKE_BEHAVIOUR', 'ok')
+os.environ['FAKE_BEHAVIOUR'] = 'worse'
 sys.path.insert(0, os.path.dirname(sys.argv[1]))
 runpy.run_path(sys.argv[1], run_name='__main__')
"""
DECLARED = """\
faults:
  wrong: {FAKE_ON: '{nothing}'}
  worse: {FAKE_BEHAVIOUR: worse}
  patched: worse.patch
"""


@pytest.mark.usefixtures("few_faults")
def test_each_declared_fault_boots_an_api_of_its_own(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch is made in a copy of the project; a fault that cannot be made is none that was tried, and costs no other.

    Each API is ready when its index is as large as without the fault, of the same notes.
    """
    (project.root / "api.py").write_text(API)
    (project.root / "worse.patch").write_text(PATCH)
    project.edit(f", {FAKE_API}]", f", '{{root}}/api.py', {FAKE_API}]")
    configured(project, DECLARED).commit()
    sizes: list[object] = []

    def recorded(*given: Any) -> AbstractContextManager[Booted]:
        sizes.append(given[-1].get("chunks"))
        return booted(*given)

    monkeypatch.setattr(gate_proof, "booted", recorded)
    done = project.command("prove", "--runs", "1")
    proved = Proved(project, done, proof(project))
    assert done.code == 0, done.out + done.err
    assert "wrong cannot be made: " in done.err
    (untried,) = [fault for fault in proved.document["untried"] if fault["name"] == "wrong"]
    assert "{nothing}" in untried["why"]
    assert proved.fault("worse")["caught"]
    patched = proved.fault("patched")
    assert (patched["kind"], patched["verdict"]) == ("patch", "regression")
    assert (project.root / "api.py").read_text() == API
    # twelve notes of three sections
    assert sizes == [None, 36, 36, 36]


def test_an_api_that_somebody_else_runs_cannot_be_booted_with_a_fault(project: Project) -> None:
    """Faults that need another boot are refused where raggate does not boot: exit 2, before anything is asked."""
    text = project.config.read_text()
    project.config.write_text(text[: text.index("api:")] + "api: {url: 'http://127.0.0.1:9'}\n" + WORSE)
    done = project.command("prove")
    assert done.code == 2, done.err
    assert "faults.worse: with api.url you start the API" in done.err


def test_an_interrupt_leaves_what_was_done(project: Project) -> None:
    """A proof that is interrupted ends with 130, tells what it had by then, and leaves no process behind."""
    process = project.start("prove", "--runs", "10000", FAKE_PID_FILE=str(project.root / "mark"))
    assert process.stderr is not None
    while "10 of 10000 runs" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "runs without a fault and 0 with one" in err
    stored = proof(project)
    assert (stored["outcome"], stored["exit_code"]) == ("interrupted", 130)
    assert stored["repeats"]["made"] >= 10
    assert "was interrupted" in (project.last_run() / "proof.md").read_text()
    deadline = time.monotonic() + 10
    while processes_with(str(project.root / "mark")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_with(str(project.root / "mark")) == []
