"""Reports where somebody asks for them: written whatever comes of a check, and never older than it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from project import Project
from raggate.base.errors import UsageError
from raggate.cli.options import FORMAT_NAMES
from raggate.pipeline.report_files import parsed
from tables import each_row

ALL = tuple(f"{form}=o/rag.{form}" for form in FORMAT_NAMES)
FLAGS = tuple(word for item in ALL for word in ("--report", item))


@pytest.fixture(scope="module")
def project(promoted_few: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a repository of six questions with a baseline."""
    return promoted_few.copied(tmp_path_factory.mktemp("reports"))


def failures(project: Project) -> int:
    """Count what is not green in the JUnit file."""
    root = ElementTree.parse(project.root / "o/rag.junit").getroot()  # noqa: S314 - our own
    return int(root.attrib["failures"]) + int(root.attrib["errors"])


def test_green_red_and_neither(project: Project) -> None:
    """A pass, a regression and an API that does not start replace each other in every file."""
    for behaviour, code in (("ok", 0), ("worse", 1), ("die_at_start", 3)):
        assert project.command("check", *FLAGS, FAKE_BEHAVIOUR=behaviour).code == code
        assert {path.name for path in (project.root / "o").iterdir()} == {Path(item).name for item in ALL}
        assert (failures(project) > 0) == (code != 0)
        assert json.loads((project.root / "o/rag.json").read_text())["exit_code"] == code
    assert "cannot tell" in (project.root / "o/rag.markdown").read_text()


def test_an_older_file_does_not_stay(project: Project) -> None:
    """A configuration that cannot be read leaves its reason, and no green of yesterday."""
    assert project.command("check", "--report", "junit=o/rag.junit").code == 0
    assert project.command("check", "-c", "nope.yml", "--report", "junit=o/rag.junit").code == 2
    assert "nope.yml: no such file" in (project.root / "o/rag.junit").read_text()
    assert failures(project) == 1


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("raggate.yml", "is the configuration"),
        ("./golden.jsonl", "is the golden set"),
        ("baselines/small.json", "is the baseline"),
        ("vault/work/new.md", "would be a note of vault 'work'"),
    ],
)
def test_files_of_others_stay(project: Project, file: str, said: str) -> None:
    """A report to a file that is no report is refused before anything runs; the other reports say so."""
    (project.root / "mine.txt").write_text("keep me")
    runs = len([*(project.root / ".raggate/runs").iterdir()])
    before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file() and path.parent.name != "o"}
    done = project.command("check", "--report", f"markdown={file}", "--report", "junit=o/rag.junit")
    assert done.code == 2
    assert f"--report: {file.removeprefix('./')!r} {said}" in done.err
    assert "raggate neither removes nor replaces" in done.err
    assert said.split("'", maxsplit=1)[0] in (project.root / "o/rag.junit").read_text()
    assert len([*(project.root / ".raggate/runs").iterdir()]) == runs
    assert {path: path.read_bytes() for path in before} == before
    assert not (project.root / "vault/work/new.md").exists()


def test_files_of_a_stored_run_stay(project: Project) -> None:
    """`compare` writes into no run directory and over no configuration, and removes an older report first."""
    project.command("check")
    run = project.last_run()
    before = (run / "verdict.json").read_bytes()
    for file in (str(run / "verdict.json"), "raggate.yml"):
        done = project.command("compare", str(run), "--report", f"json={file}")
        assert done.code == 2
        assert "--report: " in done.err
    assert (run / "verdict.json").read_bytes() == before
    assert project.command("compare", str(run), "--report", "junit=o/rag.junit").code == 0
    assert project.command("compare", str(run), "-c", "nope.yml", "--report", "junit=o/rag.junit").code == 2
    assert not (project.root / "o/rag.junit").exists()


@each_row(
    ("wanted", "said"),
    [
        (["junit"], "expected FORMAT=FILE"),
        (["junit="], "expected FORMAT=FILE"),
        (["junti=a.xml"], "Did you mean 'junit'"),
        (["junit=a", "sarif=a"], "two reports go to 'a'"),
    ],
)
def test_what_cannot_be_meant(wanted: list[str], said: str) -> None:
    """A text of another shape, an unknown format, and a file for two reports are refused before anything runs."""
    with pytest.raises(UsageError, match=said):
        parsed(wanted, "--report")


def test_what_a_run_is_about_is_shown(promoted_few: Project, tmp_path: Path) -> None:
    """The section `about` stands in the run and its reports, as text alone, and another version is a change."""
    project = promoted_few.copied(tmp_path)
    about = "\nabout: {embedding_model: granite-125m, description: 'Does <b>granite</b> find more?'}\n"
    project.config.write_text(project.config.read_text() + about)
    project.promote()
    assert json.loads((project.last_run() / "config.json").read_text())["fingerprint"]["embedding_model"]
    project.edit("granite-125m", "granite-350m")
    assert project.command("check").code == 0
    for report in ("summary.md", "report.html"):
        text = (project.last_run() / report).read_text()
        assert "granite-125m → granite-350m" in text
        assert "find more?" in text
        assert "<b>granite" not in text
