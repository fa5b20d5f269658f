"""Where a report may go: to a new file, or over an earlier report, and to nothing that somebody else wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from raggate.base.errors import UsageError
from raggate.models.publication import RunFailure
from raggate.pipeline.report_files import refusals
from raggate.reports import FORMATS

REPORT = "".join(FORMATS["junit"].render(RunFailure.of(UsageError("x"), "notes", run_id=""), ""))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reason(file: str, **places: str) -> str:
    """Return why a report may not go there, beside what the gate has: name -> path."""
    path = Path(file)
    return refusals([path], {Path(os.path.realpath(place)): name for name, place in places.items()}).get(path, "")


def test_new_files_and_earlier_reports(here: Path) -> None:
    """A new file in a new directory, an empty file and an earlier report of any format may be written."""
    (here / "empty").touch()
    (here / "rag.xml").write_text(REPORT)
    assert [reason(name) for name in ("new/dir/rag.xml", "empty", "rag.xml", str(here / "rag.xml"))] == [""] * 4


@pytest.mark.parametrize(
    "content", ["x", REPORT[5:], "# notes\n## ❌ raggate: regression\n", '{"schema": "raggate/verdict/1"}']
)
def test_what_others_wrote(here: Path, content: str) -> None:
    """A file that does not begin as a report does stays."""
    (here / "rag.xml").write_text(content)
    assert reason("rag.xml") == "exists, and is not a report of raggate"


def test_no_files(here: Path) -> None:
    """Directories, links, even to an earlier report or in a circle, pipes and devices are refused."""
    (here / "rag.xml").write_text(REPORT)
    (here / "link").symlink_to("rag.xml")
    (here / "circle").symlink_to("circle")
    os.mkfifo(here / "pipe")
    said = {
        name: reason(name) for name in (".", "link", "circle", "circle/rag.xml", "pipe", "/dev/null", "rag.xml/below")
    }
    assert said == {
        ".": "is a directory",
        "link": "is a link",
        "circle": "is a link",
        "circle/rag.xml": "cannot be written: circle is not a directory",
        "pipe": "is a named pipe",
        "/dev/null": "is a device",
        "rag.xml/below": "cannot be written: rag.xml is not a directory",
    }


def test_what_the_gate_reads(here: Path) -> None:
    """Its files are refused by name, also before they exist or through a link above them, and new notes of a vault."""
    (here / "notes").mkdir()
    (here / "way").symlink_to("notes")
    baseline = {"the baseline": "baselines/a.json"}
    assert reason("./baselines/../baselines/a.json", **baseline) == "is the baseline"
    vault = {"vault 'main'": "notes"}
    assert reason("way/deep/rag.md", **vault) == "would be a note of vault 'main'"
    assert reason("notes/rag.xml", **vault) == ""


def test_run_directories_and_git(here: Path) -> None:
    """The verdict of a run is not replaced, not even by a report, and nothing is put into `.git`."""
    run = here / "runs" / "20260102_030405"
    run.mkdir(parents=True)
    renamed = here / "artifact"
    renamed.mkdir()
    (renamed / "config.json").write_text('{"schema": "raggate/run/1"}')
    (renamed / "rag.xml").write_text(REPORT)
    assert reason("runs/20260102_030405/new.xml") == "lies in the run directory 20260102_030405"
    assert reason("artifact/rag.xml") == "lies in the run directory artifact"
    assert reason(".git/rag.xml") == "lies in a git directory"
    assert reason("runs/rag.xml") == ""
