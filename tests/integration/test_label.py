"""`raggate label --terminal`: the engine of the page, one passage after the other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import click
import pytest

from here import Done, called
from labelling_project import LabelProject, make_label_project
from project import Project
from raggate.cli import main


@pytest.fixture
def project(tmp_path: Path) -> LabelProject:
    """Return a repository with a stored run."""
    return make_label_project(tmp_path)


def labelled(project: LabelProject, answers: str, *flags: str, confirm: bool = True) -> Done:
    """Answer the prompts of the terminal in turn, and then quit."""
    given: Iterator[str] = iter([*answers, *"q" * 20])
    arguments = ["label", "runs/20260102_030405", "--as", "ann", "--terminal", "--proposals", "0", *flags]
    with (
        mock.patch.object(click, "prompt", side_effect=given),
        mock.patch.object(click, "confirm", return_value=confirm),
    ):
        return called(lambda: sys.exit(main.run_command(arguments)), at=project.root, environment={})


def test_a_sitting_in_the_terminal(project: LabelProject) -> None:
    """Grades, an undo, must-pass and the writing; a second start goes on with what is open."""
    done = labelled(project, "3m" + "u" + "0" + "p" + "w")
    assert done.code == 0, done.err
    assert "6 passages of 2 questions to judge" in done.err
    assert "wrote golden.labels.jsonl, golden.jsonl" in done.out
    row = project.cases()["q1"]
    assert (len(row["gold_supports"]), len(row["not_relevant"]), row["must_pass"]) == (2, 1, True)
    again = labelled(project, "")
    assert "4 passages of 2 questions to judge" in again.err


def test_passages_of_the_baseline_whose_texts_are_elsewhere(promoted_once: Project, tmp_path: Path) -> None:
    """What the baseline returned and no named run has is counted; that its own run has it is not denied."""
    promoted = promoted_once.copied(tmp_path)
    promoted.command("check", "--case", "anchovy-first", FAKE_BEHAVIOUR="lose:anchovy")
    with mock.patch.object(click, "prompt", side_effect=["q"]):
        done = promoted.command("label", "--as", "ann", "--terminal", "--proposals", "0")
    assert "148 more, of which no run that is read here has the text: name its own run directory, too" in done.err


def test_what_is_not_written_is_told(project: LabelProject) -> None:
    """Whoever quits is told which files say less than was decided; as JSON, too, on one line of nothing else."""
    before = project.golden.read_bytes()
    done = labelled(project, "3", confirm=False)
    assert "decided and not written yet: golden.labels.jsonl, golden.jsonl" in done.err
    assert project.golden.read_bytes() == before
    told = labelled(project, "s", "--json")
    result = json.loads(told.out)["result"]
    assert result == {
        "golden": "golden.jsonl",
        "open": 5,
        "unwritten": ["golden.labels.jsonl", "golden.jsonl"],
    }


def test_where_there_is_no_git(project: LabelProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who judges is then whom the system names, and asked for where it names nobody."""
    monkeypatch.setenv("PATH", str(project.root))
    arguments = ["label", "runs/20260102_030405", "--terminal", "--proposals", "0"]

    def started(environment: dict[str, str]) -> Done:
        with mock.patch.object(click, "prompt", side_effect=["3", "q"]):
            return called(lambda: sys.exit(main.run_command(arguments)), at=project.root, environment=environment)

    assert "who judges is not known" in started({}).err
    assert started({"USER": "carol"}).code == 0
    assert '"by":"carol"' in project.journal.read_text()
