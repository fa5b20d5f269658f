"""raggate gating a program that answers in lines of JSON, from the configuration to the verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from programs import BAD, CONFIG, hurried
from project import Project, make_small_project, processes_with
from tables import each_row

PROGRAM = Path(__file__).parents[1] / "fakes" / "program.py"
COMMAND = "{{run: [{python}, -S, {program}, vault, {mark}], pass_env: [PATH, FAKE_BEHAVIOUR]}}"


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with a gate on the program and a baseline."""
    root = tmp_path_factory.mktemp("program")
    project = make_small_project(root)
    command = COMMAND.format(python=sys.executable, program=PROGRAM, mark=f"mark-{root.name}")
    project.config.write_text(CONFIG.format(command=command, headings="headings"))
    project.promote()
    return project


def test_a_program_is_gated_from_green_to_red(gated: Project) -> None:
    """The same program is green whatever it prints beside its answers; one that lost a note is a regression."""
    same = gated.command("check", FAKE_BEHAVIOUR="noisy")
    assert same.code == 0, same.out + same.err
    log = (gated.last_run() / "api.log").read_text()
    for line in ("Loading weights", "no answer yet", '"versions"'):
        assert line in log

    lost = gated.command("check", FAKE_BEHAVIOUR="lose:anchovy")
    assert lost.code == 1, lost.out + lost.err
    assert "anchovy-first" in lost.out


def test_another_version_that_is_loaded_is_named(gated: Project) -> None:
    """Packages that the program tells are compared with the baseline's; what is no name or version is left out."""
    same = gated.command("check")
    stored = json.loads((gated.root / "baselines" / "small.json").read_text())
    assert stored["fingerprint"]["versions"] == ["fake 1", "other 2.0+b1"]
    assert "Changed beside the notes" not in same.out
    upgraded = gated.command("check", FAKE_BEHAVIOUR="version:3.4.0")
    assert upgraded.code == 0, upgraded.out + upgraded.err
    assert "Changed beside the notes: loaded by the program (fake 1 → 3.4.0)" in upgraded.out
    assert "other" not in upgraded.out


@each_row(("behaviour", "sentence"), BAD)
def test_a_bad_program_cannot_be_told_and_is_not_left_running(gated: Project, behaviour: str, sentence: str) -> None:
    """Whatever a program does wrong, a sentence says it, the verdict is none, and the program is gone."""
    hurried(gated, ready=2)
    done = gated.command("check", "-c", "hurried.yml", FAKE_BEHAVIOUR=behaviour)
    assert done.code == 3, done.out + done.err
    assert sentence in done.out + done.err
    assert "Traceback" not in done.out + done.err
    assert processes_with(f"mark-{gated.root.name}") == []
