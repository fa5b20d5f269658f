"""What an API does beside answering well, and what nobody is asked about, is told wherever a run is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from here import Done
from project import Project, make_small_project
from stored_rows import plain_rows


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository of six questions without a baseline."""
    return make_small_project(tmp_path)


@pytest.fixture
def promoted(promoted_few: Project, tmp_path: Path) -> Project:
    """The same six questions with a baseline of the healthy API."""
    return promoted_few.copied(tmp_path)


@pytest.fixture(scope="module")
def thrice_once(promoted_few: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    """One whose newest run asked each question three times, of an API that ranks otherwise from the second on."""
    project = promoted_few.copied(tmp_path_factory.mktemp("thrice"))
    project.edit("concurrency: 4", "concurrency: 4, repeat: 3")
    return project, project.command("check", FAKE_BEHAVIOUR="noisy")


def codes(project: Project) -> dict[str, str]:
    """Return the warnings of the newest run, by code, but for the lists of this API that are short."""
    found = {one["code"]: one["message"] for one in project.verdict()["warnings"]}
    return {code: message for code, message in found.items() if code != "invariant-list_deep_enough"}


def metrics(project: Project) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((project.last_run() / "metrics.json").read_text())
    return loaded


def everywhere(project: Project, out: str, words: str) -> None:
    """See that a text stands on the terminal, in the summary and in verdict.json."""
    assert words in out or words[0].upper() + words[1:] in out
    summary = (project.last_run() / "summary.md").read_text().replace("&#64;&#8288;", "@")
    # a list of sentences begins each with a capital
    assert words.lower() in summary.lower()
    assert words in (project.last_run() / "verdict.json").read_text()


def test_generated_answers_are_told_and_not_kept(promoted: Project) -> None:
    """An API that ignores retrieval_only passes with a warning of what that costs; no answer's text is on disk."""
    done = promoted.command("check", FAKE_BEHAVIOUR="ignore_retrieval_only")
    assert done.code == 0, done.out + done.err
    everywhere(promoted, done.out, "generated an answer in 6 of 6 calls")
    assert set(codes(promoted)) == {"unasked-answers"}
    assert metrics(promoted)["operational_metrics"]["unasked_answer_rate"] == 1
    rows = [json.loads(line) for line in plain_rows(promoted.last_run()).read_text().splitlines()]
    assert {row["result"]["response"]["answer"] for row in rows} == {None}
    assert promoted.command("compare", str(promoted.last_run())).code == 0
    assert promoted.compared() == promoted.verdict()


def test_everything_asked_several_times(thrice_once: tuple[Project, Done], tmp_path: Path) -> None:
    """Three answers to each of six questions, of which the first alone is right: a third, told with all its figures."""
    project, done = thrice_once[0].copied(tmp_path), thrice_once[1]
    assert done.code == 1, done.out + done.err
    assert "18 calls, 0 failed, 0 retried" in done.out
    assert "6 asked 3 times, 6 of 6 ranked differently" in done.out
    everywhere(project, done.out, "asked 3 times, 6 of 6 questions returned other passages or another order")
    (row,) = [row for row in project.verdict()["metrics"] if row["metric"] == "hit_at_1" and row["slice"] == "overall"]
    assert (row["baseline"], row["current"]) == (1, 0.3333)
    found = metrics(project)
    assert found["repeated"]["flips"]["hit_at_1"] == 6
    assert found["noise"]["bands"]["hybrid"]["hit_at_1"] == [0, 1, 6, 6, 4]
    rows = [json.loads(line) for line in plain_rows(project.last_run()).read_text().splitlines()]
    assert [row.get("repeat", 1) for row in rows] == [1] * 6 + [2] * 6 + [3] * 6
    assert project.command("compare", str(project.last_run())).code == 1
    assert project.compared() == project.verdict()


def test_an_api_that_must_be_deterministic(promoted: Project) -> None:
    """With the invariant on, questions of the sample that come back otherwise break the gate, and are named."""
    config = promoted.config.read_text()
    promoted.config.write_text(config + "invariants: {must_be_deterministic: error}\n")
    assert promoted.command("check").code == 0
    done = promoted.command("check", FAKE_BEHAVIOUR="noisy")
    assert done.code == 4, done.out + done.err
    assert "Questions got another ranking when they were asked again" in done.out
    promoted.config.write_text(config + "invariants: {must_be_deterministic: warn}\n")
    assert promoted.command("check", FAKE_BEHAVIOUR="noisy").code == 0
    assert "invariant-must_be_deterministic" in codes(promoted)


def test_second_calls_that_fail_are_told_and_count_for_nothing(promoted: Project) -> None:
    """An API that refuses to be asked twice is measured by its first answers, and the refusals are told."""
    done = promoted.command("check", FAKE_BEHAVIOUR="once_only")
    assert done.code == 0, done.out + done.err
    everywhere(promoted, done.out, "6 of 6 questions got no answer when asked a second time")
    assert metrics(promoted)["operational_metrics"]["failed"] == 0
    assert metrics(promoted)["repeated"]["share"] is None


def test_questions_and_modes_that_have_no_part_are_told(project: Project) -> None:
    """Questions that no mode asks, and modes that no question is for, are warnings of every report: in no table."""
    cases = project.cases()
    others = [{**case, "retriever_types": ["hybrid"]} for case in cases[1:]]
    project.write_cases([{**cases[0], "retriever_types": ["vector"]}, *others])
    project.edit("concurrency: 4", "concurrency: 4, modes: [hybrid, vektor]")
    project.promote()
    done = project.command("check")
    assert done.code == 0, done.out + done.err
    words = f"1 question is never asked, because ask.modes lacks their modes: {cases[0]['id']}"
    everywhere(project, done.out, words)
    everywhere(project, done.out, "no question is for mode vektor, so this mode is not measured")
