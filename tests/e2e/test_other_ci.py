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

from e2e.test_engines import change, script
from project import Project

__all__ = ["change"]

DOCS = Path(__file__).parents[2] / "docs"


def block(page: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def failures(at: Path) -> int:
    """Count what is not green in the test results."""
    root = ElementTree.parse(at / "rag.xml").getroot()  # noqa: S314 - our own
    return int(root.attrib["failures"]) + int(root.attrib["errors"])


@pytest.mark.parametrize(("behaviour", "code"), [("ok", 0), ("worse", 1), ("die_at_start", 3)])
def test_gitlab(change: Project, behaviour: str, code: int) -> None:
    """The job ends with the verdict, and leaves the files that its artifacts name."""
    (change.root / "rag.md").write_text("All is well.\n")
    change.commit()
    job: Mapping[str, Any] = yaml.safe_load(block("other-ci.md", "yaml"))["rag-gate"]
    variables = {"FAKE_BEHAVIOUR": behaviour, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    assert script(change, job["script"], **variables) == code
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
