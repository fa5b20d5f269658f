"""Invariants that ask questions of their own: each broken once by an API, and named; and what they cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from project import FAKE_API, Project, make_small_project

GUARDED = FAKE_API.with_name("guarded_api.py")

PROBES = """\
  principals:
    anna: {headers: {X-User: "{env.ANNA}"}, sees: [work]}
    bert: {headers: {X-User: bert}, vaults: [personal, work], sees: [personal]}
invariants: {list_deep_enough: "off", principals_isolated: error}
private: {front_matter: {private: [true]}}
"""


@pytest.fixture(scope="module")
def guarded_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with private notes, headings worth asking and an API that keeps every invariant; with a baseline."""
    root = tmp_path_factory.mktemp("guarded")
    project = make_small_project(root)
    # a question about another note, and a note that no one may be shown
    (root / "vault/work/Notes/garage.md").write_text(
        "# Garage\n\n## Spare Parts\n\nThe düsenöffner hangs beside the anvil of litres\n\n## Opening Hours\n\nnine\n"
    )
    (root / "vault/work/Notes/diary.md").write_text(
        "---\nprivate: true\n---\n# Diary\n\n"
        "## Bitter Litres\n\nlitres that nobody paid for since the barrel fell down the stairs\n"
    )
    (root / "vault/personal/Notes/sister.md").write_text(
        "# Sister\n\n## Address\n\nshe moved into the yellow house behind the old mill pond\n"
    )
    case = {**project.cases()[0], "id": "nozzle", "question": "Düsenöffner litres", "vaults": ["work"]}
    case["gold_supports"] = [{"rel_path": "Notes/garage.md", "heading_path": "# Garage > ## Spare Parts"}]
    project.write_cases([*project.cases(), case])
    project.edit(str(FAKE_API), str(GUARDED))
    project.edit("FAKE_PID_FILE]", "FAKE_FAULT]")
    with project.config.open("a") as stream:
        stream.write(PROBES)
    project.edit("concurrency: 4}\n  principals:", "concurrency: 4\n  principals:")
    project.edit("ask: {timeout: 20, concurrency: 4", "ask:\n  timeout: 20\n  concurrency: 4")
    project.environment.update(ANNA="anna")
    project.promote()
    return project


@pytest.fixture
def guarded(guarded_once: Project, tmp_path: Path) -> Project:
    return guarded_once.copied(tmp_path)


def findings(project: Project) -> dict[str, dict[str, Any]]:
    """Return the findings of the newest run, by invariant."""
    return {finding["invariant"]: finding for finding in project.verdict()["invariants"]}


def test_an_api_that_keeps_them_passes_and_the_cost_is_told(guarded: Project) -> None:
    """Nothing is broken, every probe stands in the run directory, and none of them counts as measured."""
    done = guarded.command("check")
    assert done.code == 0, done.out + done.err
    assert findings(guarded) == {}
    probes = (guarded.last_run() / "probes.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["probe"]["kind"] for line in probes]
    assert kinds == ["private", *["principal"] * 10]
    asked = f"7 asked twice, all ranked alike · {len(kinds)} asked for invariants"
    assert f"7 calls, 0 failed, 0 retried · {asked}" in done.out
    assert guarded.verdict()["config_changes"] == []


@pytest.mark.parametrize(
    ("fault", "invariant", "words"),
    [
        ("runs_on", "private_withheld", "rank 1, Notes/journal.md, contains text of work/Notes/diary.md"),
        ("next_note", "principals_isolated", ", contains text of personal/Notes/sister.md"),
    ],
)
def test_a_broken_invariant_is_named(guarded: Project, fault: str, invariant: str, words: str) -> None:
    """An API that breaks one of them ends with exit 4, by that invariant alone, and says where; from disk likewise."""
    done = guarded.command("check", FAKE_FAULT=fault)
    assert done.code == 4, done.out + done.err
    assert list(findings(guarded)) == [invariant]
    assert any(words in example for example in findings(guarded)[invariant]["examples"])
    assert guarded.command("compare", str(guarded.last_run())).code == 4
    assert guarded.compared() == guarded.verdict()


def test_what_could_not_be_seen_is_not_green(guarded: Project) -> None:
    """An invariant of which nothing was seen is no broken one and no pass: the gate cannot tell, and says why."""
    done = guarded.command("check", FAKE_FAULT="locks_out")
    assert done.code == 3, done.out + done.err
    (finding,) = findings(guarded).values()
    assert (finding["invariant"], finding["unseen"]) == ("principals_isolated", True)
    assert "anna got no passage for 5 questions: 5 of 5 questions got no answer" in finding["examples"][0]
    assert "could not be checked" in done.out


def test_probes_that_are_gone_from_a_run_directory_are_missed(guarded: Project) -> None:
    """A run directory without its probes does not pass: what it rested on is not there."""
    assert guarded.command("check").code == 0
    (guarded.last_run() / "probes.jsonl").unlink()
    done = guarded.command("compare", str(guarded.last_run()))
    assert done.code == 3, done.out + done.err
    assert "no private note was asked for" in done.out


def test_a_change_cannot_switch_probes_off(guarded: Project) -> None:
    """By --against the levels of the base count, and the preview calls the change's own looser."""
    guarded.commit()
    guarded.edit("principals_isolated: error", 'principals_isolated: "off"')
    guarded.edit("sees: [work]}", "sees: [work, personal]}")
    guarded.edit("front_matter: {private: [true]}", "front_matter: {}")
    done = guarded.command("check", "--against", "HEAD", FAKE_FAULT="leaks")
    assert done.code == 4, done.out + done.err
    assert list(findings(guarded)) == ["principals_isolated"]
    looser = {"ask.principals.anna.sees", "invariants.principals_isolated", "private.front_matter.private"}
    assert set(guarded.verdict()["preview"]["loosened"]) == looser


def test_a_secret_that_is_not_set_is_asked_for_before_anything_starts(guarded: Project) -> None:
    """A header's variable that is missing ends with exit 2 before the API is started, naming the key and what to do."""
    done = guarded.command("check", ANNA="")
    assert done.code == 2, done.out + done.err
    assert "ANNA, which ask.principals.anna.headers.X-User needs, is not set" in done.out + done.err
    assert "Set it, on GitHub as `env: {ANNA: ...}` of the step." in done.out + done.err
