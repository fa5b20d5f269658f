"""First runs through the command, on an API process: what is measured is told, and so is what stops it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from project import Project, make_small_project
from raggate.gate.baseline_integrity import digest
from raggate.text.jsonio import dumps
from tables import each_row

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


NO_HEADING = "the API returns no heading_path"
OTHERWISE = "the API writes headings differently: golden set '# Anchovy > ## First *steps* {#first}', API "


@each_row(
    ("behaviour", "sections", "why"),
    [
        pytest.param("ok", 6, "", id="the API tells headings as the file has them"),
        pytest.param("headings:plain", 6, "", id="the API drops ids, markup and marks"),
        pytest.param("headings:none", 0, NO_HEADING, id="the API tells none"),
        pytest.param("headings:last", 0, f"{OTHERWISE}'## First *steps* {{#first}}'", id="it tells the last alone"),
        pytest.param("headings:slug", 0, f"{OTHERWISE}'#first-steps'", id="it tells slugs"),
    ],
)
def test_a_run_that_measures_nothing_says_why(project: Project, behaviour: str, sections: int, why: str) -> None:
    """Headings that read the same match; others are a run that measures nothing, which says so and is not promoted."""
    done = project.command("check", FAKE_BEHAVIOUR=behaviour)
    verdict = project.verdict()
    assert done.code == 3
    (reach,) = verdict["reach"]
    assert (reach["questions"], reach["notes"], reach["sections"]) == (6, 6, sections)
    assert reach["why"].startswith(why)
    assert len(verdict["misses"]) == 6 - sections
    promoted = project.command("promote", str(project.last_run()), "--dry-run")
    if sections:
        assert "not found" not in done.out
        assert promoted.code == 0, promoted.err
        return
    assert verdict["headline"].startswith(
        "No verdict is possible: no question has a match; the right note came back for 6"
    )
    assert f"its section for 0; {why}" in done.out
    assert "Questions that were not found (6)" in done.out
    assert done.out.index("Questions that were not found") < done.out.index("anchovy-first") < done.out.index(why)
    assert done.out.count(why) == 1
    assert all("the section is at rank 1, but " in miss["why"] for miss in verdict["misses"])
    assert "first run? review it" not in done.out
    assert promoted.code == 2
    assert "measures nothing of mode 'hybrid': no question has a match" in promoted.err


def test_what_measures_nothing_is_promoted_by_its_name_alone(project: Project, tmp_path: Path) -> None:
    """The flag names the mode, and what was accepted is told; a name that the run has not is refused."""
    own = project.copied(tmp_path)
    own.command("run", FAKE_BEHAVIOUR="headings:none")
    run = str(own.last_run())
    wrong = own.command("promote", run, "--allow-no-match", "vector")
    assert (wrong.code, "has no such mode or slice" in wrong.err) == (2, True)
    done = own.command("promote", run, "--allow-no-match", "hybrid")
    assert done.code == 0, done.err
    assert "accepted: no question has a match in mode 'hybrid'" in done.out
    check = own.command("check", FAKE_BEHAVIOUR="headings:none")
    assert check.code == 0
    assert any(warning["code"] == "no-match" for warning in own.verdict()["warnings"])


def test_golden_headings_may_be_as_they_are_read(project: Project, tmp_path: Path) -> None:
    """A golden set without ids and markup is the same one, for an API that tells the file's own headings."""
    own = project.copied(tmp_path)
    cases = own.cases()
    for case in cases:
        support = case["gold_supports"][0]
        support["heading_path"] = (
            support["heading_path"].replace("*steps* {#first}", "steps").replace("`Second` ##", "SECOND")
        )
    own.write_cases(cases)
    assert own.command("check").code == 3
    assert own.verdict()["misses"] == []
    own.command("promote", str(own.last_run()))
    baseline = json.loads((own.root / "baselines" / "small.json").read_text())
    assert baseline["fingerprint"]["headings_as_read"] == 6


def test_a_baseline_by_letters_is_not_held_against_what_matches_otherwise(project: Project, tmp_path: Path) -> None:
    """A baseline from before headings were read stays good for answers that match by letters, and for no others."""
    own = project.copied(tmp_path)
    own.promote()
    path = own.root / "baselines" / "small.json"
    stored = json.loads(path.read_text())
    del stored["fingerprint"]["headings_as_read"]
    path.write_text(json.dumps({**stored, "digest": digest(stored, map(dumps, stored["cases"]))}))
    assert own.command("check").code == 0
    refused = own.command("check", FAKE_BEHAVIOUR="headings:plain")
    assert refused.code == 3
    assert "the baseline was scored by headings letter by letter" in own.verdict()["headline"]


def test_a_heading_that_could_be_two_counts_for_neither(promoted_few: Project, tmp_path: Path) -> None:
    """Sections that differ in capitals alone are told apart by an API that tells capitals, and by no other one."""
    own = promoted_few.copied(tmp_path)
    (own.root / "baselines" / "small.json").unlink()
    for note in (own.root / "vault").rglob("*.md"):
        note.write_text(note.read_text().replace("## First", "## Set up").replace("## Second", "## SET UP"))
    text = (own.root / "golden.jsonl").read_text()
    (own.root / "golden.jsonl").write_text(text.replace("## First", "## Set up").replace("## Second", "## SET UP"))
    linted = own.command("lint")
    assert "warning [look-alike-heading] anchovy-first: " in linted.out
    own.command("check")
    assert own.verdict()["misses"] == []
    own.command("check", FAKE_BEHAVIOUR="headings:lower")
    verdict = own.verdict()
    assert {miss["cause"]["code"] for miss in verdict["misses"]} == {"heading-ambiguous"}
    (reach,) = verdict["reach"]
    assert (reach["notes"], reach["sections"], reach["matches"]) == (6, 0, 0)
    assert "'# anchovy > ## set up'" in reach["why"]
