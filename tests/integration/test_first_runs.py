"""First runs through the command, on an API process: what is measured is told, and so is what stops it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from project import Project, make_small_project

HEADINGS = {"## First": "## First *steps* {#first}", "## Second": "## `Second` ##"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Make a repository whose notes have ids, markup and closing marks in their headings, as the golden set has."""
    made = make_small_project(tmp_path_factory.mktemp("first"))
    rewrite(made, lambda heading: heading)
    for note in (made.root / "vault").rglob("*.md"):
        text = note.read_text()
        for plain, written in HEADINGS.items():
            text = text.replace(plain, written)
        note.write_text(text)
    return made


def rewrite(project: Project, told: Callable[[str], str]) -> None:
    """Write the golden set with the headings of the notes, each as `told` makes it."""
    cases = project.cases()
    for case in cases:
        support = case["gold_supports"][0]
        for plain, written in HEADINGS.items():
            support["heading_path"] = support["heading_path"].replace(plain, told(written))
    project.write_cases(cases)


def test_a_heading_that_could_be_two_counts_for_neither(promoted_few: Project, tmp_path: Path) -> None:
    """Sections that differ in capitals alone are told apart by an API that tells capitals, and by no other one."""
    own = promoted_few.copied(tmp_path)
    (own.root / "baselines" / "small.json").unlink()
    for note in (own.root / "vault").rglob("*.md"):
        note.write_text(note.read_text().replace("## First", "## Set up").replace("## Second", "## SET UP"))
    text = (own.root / "golden.jsonl").read_text()
    (own.root / "golden.jsonl").write_text(text.replace("## First", "## Set up").replace("## Second", "## SET UP"))
    own.command("check")
    assert own.verdict()["misses"] == []
    own.command("check", FAKE_BEHAVIOUR="headings:lower")
    verdict = own.verdict()
    assert {miss["cause"]["code"] for miss in verdict["misses"]} == {"heading-differs"}
    (reach,) = verdict["reach"]
    assert (reach["notes"], reach["sections"], reach["matches"]) == (6, 0, 0)
    assert "'# anchovy > ## set up'" in reach["why"]
