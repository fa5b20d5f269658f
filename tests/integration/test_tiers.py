"""Two suites of one golden file: a small one, which asks some of its questions, and the one that asks all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from project import Project
from raggate.base.errors import UsageError
from raggate.pipeline import rerun, run_directory

TIER = "questions: [tag=personal, must_pass]\n"
ASKED = "12 of 24 questions of golden.jsonl"


def as_smoke(project: Project) -> Path:
    """Write the configuration of the small suite, beside that of the large one."""
    path = project.root / "raggate.smoke.yml"
    path.write_text(TIER + project.config.read_text().replace("suite: small", "suite: smoke"))
    return path


@pytest.fixture(scope="module")
def tiers_once(promoted_once: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a repository in which both suites have a baseline."""
    project = promoted_once.copied(tmp_path_factory.mktemp("tiers"))
    with project.config.open("a") as stream:
        stream.write("gate: {policy: threshold}\n")
    as_smoke(project)
    assert project.command("run", "-c", "raggate.smoke.yml").code == 0
    done = project.command("promote", "latest", "-c", "raggate.smoke.yml")
    assert done.code == 0, done.err
    return project


@pytest.fixture
def tiers(tiers_once: Project, tmp_path: Path) -> Project:
    return tiers_once.copied(tmp_path)


def ends(project: Project, **environment: str) -> dict[str, dict[str, Any]]:
    """Check both suites in one command, and give how each ended."""
    done = project.command("check", "-c", "raggate.smoke.yml", "-c", "raggate.yml", "--json", **environment)
    suites = json.loads(done.out)["result"]["suites"]
    assert done.code == max(suite["exit_code"] for suite in suites)
    return {suite["suite"]: suite for suite in suites}


@pytest.mark.parametrize(
    ("lost", "codes"), [("kernel", {"smoke": 0, "small": 1}), ("anchovy", {"smoke": 1, "small": 1})]
)
def test_each_is_judged_by_its_own_questions(tiers: Project, lost: str, codes: dict[str, int]) -> None:
    """A loss of questions that the small suite leaves out is red in the large one alone; of those it asks, in both."""
    suites = ends(tiers, FAKE_BEHAVIOUR=f"lose:{lost}")
    assert {name: suite["exit_code"] for name, suite in suites.items()} == codes
    asked = {name: run_directory.read(Path(suite["run_directory"])) for name, suite in suites.items()}
    assert {name: len(run.results) for name, run in asked.items()} == {"smoke": 12, "small": 24}
    assert asked["smoke"].golden.asked == ASKED
    assert all(case.tags == ("personal",) for case in asked["smoke"].golden.cases)


def test_reports_say_what_was_asked(tiers: Project) -> None:
    """Terminal, page and summary say how many of how many questions, and that nothing is said of the others."""
    done = tiers.command("check", "-c", "raggate.smoke.yml")
    assert done.code == 0, done.err
    assert f"suite smoke · {ASKED} · hybrid" in done.out
    told = (tiers.last_run() / "summary.md").read_text()
    assert f"> **This suite asks {ASKED}. Its result says nothing about the others.**" in told
    assert ASKED in (tiers.last_run() / "report.html").read_text()
    lint = tiers.command("lint", "-c", "raggate.smoke.yml")
    assert "suite smoke: 12 of 24 questions, gate.policy threshold" in lint.out
    part = tiers.command("check", "-c", "raggate.smoke.yml", "--case", "kernel-first")
    assert part.code == 2
    assert "--case: the suite's part of the golden set has no question 'kernel-first'" in part.err


def test_other_labels_are_those_of_the_same_part(tiers: Project) -> None:
    """A run is scored by its part of the file that is named, and by the questions that a partial run asked."""
    whole = run_directory.read(tiers.last_run())
    again = rerun.by_golden_set(whole, tiers.root / "golden.jsonl")
    assert again.golden.asked == ASKED
    asked = next(case["id"] for case in tiers.cases() if case["tags"] == ["personal"])
    tiers.command("run", "--case", asked)
    part = rerun.by_golden_set(run_directory.read(tiers.last_run()), tiers.root / "golden.jsonl")
    assert [case.id for case in part.golden.cases] == [asked]
    tiers.write_cases([{**case, "tags": ["work"]} for case in tiers.cases()])
    with pytest.raises(UsageError, match=r"no question of .*golden\.jsonl has the tag 'personal'") as caught:
        rerun.by_golden_set(whole, tiers.root / "golden.jsonl")
    assert "`questions` of its configuration applies" in caught.value.hint


def test_the_first_question_of_the_part_is_probed(tiers: Project) -> None:
    """`probe` asks a question that the suite asks."""
    ours = next(case for case in tiers.cases() if case["tags"] == ["personal"])
    others = [case for case in tiers.cases() if case["tags"] != ["personal"]]
    tiers.write_cases([*others, ours])
    done = tiers.command("probe", "-c", "raggate.smoke.yml")
    assert done.code == 0, done.err
    assert ours["question"] in done.out


def test_the_base_chooses_the_questions(tiers: Project) -> None:
    """A change that chooses fewer is judged by those of the base, and named as one that loosens the gate."""
    other = next(case["id"] for case in tiers.cases() if case["tags"] != ["personal"])
    tiers.write_cases([{**case, "must_pass": case["id"] == other} for case in tiers.cases()])
    tiers.commit()
    path = tiers.root / "raggate.smoke.yml"
    path.write_text(path.read_text().replace(TIER, "questions: [must_pass]\n"))
    done = tiers.command("check", "-c", "raggate.smoke.yml", "--against", "HEAD", FAKE_BEHAVIOUR="lose:anchovy")
    assert done.code == 1
    verdict = tiers.verdict()
    (loosens,) = [reason["message"] for reason in verdict["warnings"] if reason["code"] == "loosens-gate"]
    assert "questions" in loosens
    assert verdict["preview"]["golden"]["removed"]


def test_a_change_that_leaves_no_question_of_a_tag(tiers: Project) -> None:
    """A change that takes the tag off the last question would leave nothing to ask, so it does not pass."""
    tiers.commit()
    tiers.write_cases([{**case, "tags": ["work"]} for case in tiers.cases()])
    done = tiers.command("check", "-c", "raggate.smoke.yml", "--against", "HEAD")
    assert done.code == 3, done.out
    assert "raggate.smoke.yml:1: questions[0]: no question of golden.jsonl has the tag 'personal'" in done.out
