"""Questions that are reworded and then lost: from the command line to the exit code, and into the baseline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from here import Done
from project import Project, make_project

ALLOWED = ("--allow-regression", "--reason", "the questions are harder on purpose")
LOSES = "lose:kindly"
"""A change that loses every question with this word."""


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository of forty questions, all of them found, with their baseline."""
    project = make_project(tmp_path_factory.mktemp("forty"))
    asked = project.cases()
    again = [{**case, "id": f"{case['id']}-again", "question": f"tell {case['question']}"} for case in asked]
    project.write_cases([*asked, *again][:40])
    project.promote()
    return project


@pytest.fixture
def project(forty: Project, tmp_path: Path) -> Project:
    return forty.copied(tmp_path)


def reword(project: Project, which: slice) -> None:
    """Ask some of the questions in other words."""
    cases = project.cases()
    for case in cases[which]:
        case["question"] += " kindly"
    project.write_cases(cases)


def promote(project: Project, *words: str) -> Done:
    return project.command("promote", str(project.last_run()), *words)


def stored(project: Project) -> float:
    """Return the baseline's mean that a reader sees."""
    held = json.loads((project.root / "baselines" / "small.json").read_text())
    value: float = held["aggregates"]["hybrid"]["overall"]["hit_at_5"][0]
    return value


def test_losing_reworded_questions_is_a_regression(project: Project) -> None:
    """Twenty of forty questions are reworded, and the next change loses them: exit 1, both values and every name."""
    reword(project, slice(20))
    done = project.command("check", FAKE_BEHAVIOUR=LOSES)
    assert done.code == 1, done.out
    assert "hit@5 20 of 20 (=; 50.0% over all 40)" in done.out
    over = "over the 20 questions relabelled since the baseline (expected: 100.0%)"
    assert (
        f"hit@5 (hybrid) is 0.0% {over}; together with the compared questions that is −50.0 pt, allowed 5 pt"
        in done.out
    )
    assert {flip["case_id"] for flip in project.verdict()["fallen"]} == {case["id"] for case in project.cases()[:20]}
    assert "rank 1 → not found, relabelled since the baseline" in done.out
    refused = promote(project)
    assert refused.code == 2
    assert "hit@5 (hybrid) 100.0 → 50.0% over all questions of each side" in refused.err
    assert stored(project) == 1
    assert promote(project, *ALLOWED).code == 0
    assert stored(project) == 0.5


def test_snippets_can_be_left_unread(promoted_few: Project, tmp_path: Path) -> None:
    """With `score.snippets: off` a place is enough: snippets of no note are no error, and change no case's hash."""
    project = promoted_few.copied(tmp_path)
    cases = project.cases()
    for case in cases:
        for support in case["gold_supports"]:
            support["snippets"] = ["words that no note has"]
    project.write_cases(cases)
    refused = project.command("run")
    assert refused.code == 2
    assert "words that no note has" in refused.err
    with project.config.open("a") as config:
        config.write("\nscore: {snippets: off}\n")
    assert project.command("run").code == 0
    first = json.loads((project.last_run() / "metrics.json").read_text())
    overall = first["by_retriever"]["hybrid"]["overall"]
    assert overall["hit_at_1"] == 1.0
    project.write_cases(
        [
            {**case, "gold_supports": [{**support, "snippets": []} for support in case["gold_supports"]]}
            for case in cases
        ]
    )
    assert project.command("run").code == 0
    assert json.loads((project.last_run() / "metrics.json").read_text())["golden_hash"] == first["golden_hash"]
