"""An API that carries the golden set in place of searching: what gives it away, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from here import Done
from project import FAKE_API, Project, make_small_project

MEMORISING = FAKE_API.with_name("memorising_api.py")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository whose baseline was measured with the honest API; half of its gold names no snippet."""
    project = make_small_project(tmp_path_factory.mktemp("honest"))
    cases = project.cases()
    for case in cases[::2]:
        for support in case["gold_supports"]:
            del support["snippets"]
    project.write_cases(cases)
    project.promote()
    return project


@pytest.fixture
def memorising(honest: Project, tmp_path: Path) -> Project:
    """The same repository after the API was replaced."""
    project = honest.copied(tmp_path / "copy")
    project.edit(str(FAKE_API), str(MEMORISING))
    return project


@pytest.mark.parametrize(
    ("behaviour", "invariant"),
    [("invented_heading", "headings_exist"), ("invented_text", "text_in_note"), ("invisible_text", "text_in_note")],
)
def test_what_is_invented_breaks_the_gate(memorising: Project, behaviour: str, invariant: str) -> None:
    """Gold paths with headings or texts that their notes do not have end with exit 4, though every question is hit."""
    done = memorising.command("check", FAKE_BEHAVIOUR=behaviour)
    assert done.code == 4, done.out
    verdict = memorising.verdict()
    assert verdict["reasons"][0]["code"] == f"invariant-{invariant}"
    metrics = json.loads((memorising.last_run() / "metrics.json").read_text())
    assert metrics["by_retriever"]["hybrid"]["overall"]["hit_at_1"] == 1


@pytest.fixture(scope="module")
def invented(honest: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    """The repository after a check of an API that invents headings and texts."""
    project = honest.copied(tmp_path_factory.mktemp("invented"))
    project.edit(str(FAKE_API), str(MEMORISING))
    return project, project.command("check", FAKE_BEHAVIOUR="invented_text,invented_heading")


def test_what_is_invented_is_found_again_on_disk(invented: tuple[Project, Done], tmp_path: Path) -> None:
    """A stored run, whose texts are cut, is judged as when it was measured."""
    project = invented[0].copied(tmp_path)
    assert invented[1].code == 4
    live, run = project.verdict(), project.last_run()
    assert project.command("compare", str(run)).code == 4
    again = project.compared()
    assert again["invariants"] == live["invariants"]
    assert project.command("promote", str(run)).code == 3


def test_no_text_of_an_answer_stands_in_a_finding(invented: tuple[Project, Done]) -> None:
    """A text that is not in its note is told by question, rank and note, not repeated."""
    project, done = invented
    assert "the text at rank 1 is not in Notes/" in done.out
    assert "person at the desk" not in done.out + (project.last_run() / "verdict.json").read_text()


def test_an_api_that_falls_silent_is_not_measured(memorising: Project) -> None:
    """Coverage that the baseline's run had and this one has not ends with exit 3, also when it is to be promoted.

    Real headings and text copied from the note pass: an image that carries the golden set can memorise so much.
    """
    assert memorising.command("check").code == 0
    done = memorising.command("check", FAKE_BEHAVIOUR="silent")
    assert done.code == 3, done.out
    assert "The API returned indexing_coverage.docs_processed (hybrid) in 6 of 6 answers" in done.out
    assert "of the baseline's run and in 0 of 6 now" in done.out
    refused = memorising.command("promote", str(memorising.last_run()))
    assert (refused.code, "indexing_coverage.index_version" in refused.err) == (2, True)
    accepted = memorising.command(
        "promote", str(memorising.last_run()), "--allow-regression", "--reason", "the API has no coverage any more"
    )
    assert accepted.code == 0, accepted.err
    assert memorising.command("check", FAKE_BEHAVIOUR="silent").code == 0


def test_questions_it_has_never_seen_tell(honest: Project, tmp_path: Path) -> None:
    """A suite of its own for questions that are in no repository is lost by an API that passes what it was taught."""
    project = honest.copied(tmp_path / "copy")
    held = [case | {"id": f"held-{case['id']}", "question": f"Please: {case['question']}"} for case in project.cases()]
    (project.root / "held.jsonl").write_text("".join(json.dumps(case) + "\n" for case in held))
    text = project.config.read_text().replace("suite: small", "suite: held").replace("golden.jsonl", "held.jsonl")
    config = project.root / "raggate.held.yml"
    config.write_text(text)
    chosen = ("--config", config.name)
    assert project.command("run", *chosen).code == 0
    assert project.command("promote", *chosen, str(project.last_run())).code == 0
    assert "Please" not in (project.root / "baselines" / "held.json").read_text()
    project.edit(str(FAKE_API), str(MEMORISING))
    config.write_text(text.replace(str(FAKE_API), str(MEMORISING)))
    assert project.command("check", FAKE_BEHAVIOUR="nothing_else").code == 0
    assert project.command("check", *chosen, FAKE_BEHAVIOUR="nothing_else").code == 1
