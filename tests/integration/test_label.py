"""`raggate label` around its page: who judges, what waits, and what is said at the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

import pytest

from here import Done, called
from labelling_project import LabelProject, grade, make_label_project
from raggate.cli import main
from raggate.labelling.session import Session


@pytest.fixture
def project(tmp_path: Path) -> LabelProject:
    return make_label_project(tmp_path)


def labelled(project: LabelProject, *flags: str, **environment: str) -> Done:
    """Start a sitting in which one passage is graded."""

    def serve(session: Session, annotator: str, _: int) -> None:
        session.decide([grade("q1", "# Bread > ## Oven", 3, by=annotator)])

    arguments = ["label", "runs/20260102_030405", *flags]
    with mock.patch("raggate.cli.label._serve", serve):
        return called(lambda: sys.exit(main.run_command(arguments)), at=project.root, environment=environment)


def test_what_is_not_written_is_told(project: LabelProject) -> None:
    """Whoever quits learns which files say less than was decided; as JSON, too."""
    before = project.golden.read_bytes()
    done = labelled(project, "--as", "ann", "--json")
    assert "6 passages of 2 questions to judge" in done.err
    assert "decided but not written yet: golden.labels.jsonl, golden.jsonl" in done.err
    assert project.golden.read_bytes() == before
    unwritten = ["golden.labels.jsonl", "golden.jsonl"]
    assert json.loads(done.out)["result"] == {"golden": "golden.jsonl", "open": 5, "unwritten": unwritten}


def test_where_there_is_no_git(project: LabelProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who judges is then whom the system names, and asked for where it names nobody."""
    monkeypatch.setenv("PATH", str(project.root))
    assert "raggate does not know your name" in labelled(project).err
    assert labelled(project, USER="carol").code == 0
    assert '"by":"carol"' in project.journal.read_text()
