"""The jobs that the pages on GitLab, Buildkite and Jenkins say to copy: their commands are run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from project import Project, make_project

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def change(tmp_path: Path) -> Project:
    """Return a checkout of a change whose target branch, with a baseline, is on a server, and a lax tag of its name."""
    project = make_project(tmp_path / "work")
    project.promote()
    project.commit()
    git(tmp_path, "clone", "-q", "--bare", "work", "server.git")
    git(project.root, "remote", "add", "origin", str(tmp_path / "server.git"))
    project.config.write_text(project.config.read_text() + "gate: {policy: threshold, tolerance: 1}\n")
    project.commit()
    git(project.root, "push", "-q", "origin", "HEAD:refs/tags/main")
    git(project.root, "reset", "-q", "--hard", "HEAD~1")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "raggate").write_text(f'#!/bin/sh\nexec {sys.executable} -m raggate "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    return project


def git(at: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=at, check=True, capture_output=True)


def block(page: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def run(change: Project, commands: list[str], behaviour: str, **variables: str) -> int:
    """Run commands one after the other as a job does, which ends with the first that fails."""
    environment = {**os.environ, **variables, "FAKE_BEHAVIOUR": behaviour}
    environment["PATH"] = f"{change.root.parent / 'bin'}:{environment['PATH']}"
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=change.root, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return done.returncode
    return 0


def failures(at: Path) -> int:
    """Count what is not green in the test results."""
    root = ElementTree.parse(at / "rag.xml").getroot()  # noqa: S314 - our own
    return int(root.attrib["failures"]) + int(root.attrib["errors"])


def commit_a_text(change: Project) -> None:
    """Have the change commit a text where the job has its report written."""
    (change.root / "rag.md").write_text("All is well.\n")
    change.commit()


@pytest.mark.parametrize(("behaviour", "code"), [("ok", 0), ("worse", 1), ("die_at_start", 3)])
def test_gitlab(change: Project, behaviour: str, code: int) -> None:
    """The job ends with the verdict, and leaves the files that its artifacts name."""
    commit_a_text(change)
    job: Mapping[str, Any] = yaml.safe_load(block("other-ci.md", "yaml"))["rag-gate"]
    assert run(change, job["script"], behaviour, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main") == code
    assert (failures(change.root) > 0) == (code != 0)
    assert (change.root / job["artifacts"]["reports"]["junit"]).is_file()
    report, runs = job["artifacts"]["paths"]
    assert [*(change.root / runs).glob("*/verdict.json")]
    assert ("❌" in (change.root / report).read_text()) == (code == 1)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_shells_ask(change: Project, shell: str) -> None:
    """Whatever shells are there: raggate gives each its script, and answers in its form what may come next."""
    assert f"_RAGGATE_COMPLETE={shell}_source raggate" in (DOCS / "other-ci.md").read_text(encoding="utf-8")
    raggate = [sys.executable, "-m", "raggate"]
    words = {"COMP_WORDS": "raggate calib", "COMP_CWORD": "calib" if shell == "fish" else "1"}

    def asked(what: str) -> str:
        environment = {**os.environ, **words, "_RAGGATE_COMPLETE": f"{shell}_{what}"}
        return subprocess.run(raggate, env=environment, capture_output=True, text=True, check=True).stdout

    assert "_RAGGATE_COMPLETE" in asked("source")
    assert "calibrate" in asked("complete")
