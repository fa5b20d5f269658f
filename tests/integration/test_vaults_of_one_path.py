"""Two vaults that have notes of the same paths and headings, so that only the vault of a chunk tells them apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from project import Project, make_project


@pytest.fixture
def alike(tmp_path: Path) -> Project:
    """A repository whose vaults differ in what their notes say, with questions of one of them, and its baseline."""
    project = make_project(tmp_path)
    work = project.root / "vault" / "work"
    shutil.rmtree(work)
    shutil.copytree(project.root / "vault" / "personal", work)
    for note in (work / "Notes").iterdir():
        note.write_text(note.read_text().replace("litres", "gallons").replace("grams", "ounces"))
    cases = [case for case in project.cases() if case["vaults"] == ["personal"]]
    for case in cases:
        del case["gold_supports"][0]["snippets"]
    project.write_cases(cases)
    project.promote()
    return project


def test_a_vault_that_one_chunk_tells(alike: Project) -> None:
    """An API that ignores the vault and tells it only of chunks from the right one gives no verdict, though all hit."""
    assert alike.command("check").code == 0
    done = alike.command("check", FAKE_BEHAVIOUR="strays")
    assert done.code == 3, done.out + done.err
    assert (
        "Raggate knew each passage's vault (hybrid) in 12 of 12 answers of the baseline's run and in 0 of 12 now"
        in done.out
    )
    assert {row["current"] for row in alike.verdict()["metrics"] if row["metric"] == "hit_at_1"} == {1}
