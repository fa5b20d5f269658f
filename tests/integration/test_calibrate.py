"""`raggate calibrate`: the same build asked several times, its noise stored with the baseline, and told by checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from project import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository of one question for each note, without a baseline."""
    return make_project(tmp_path, questions=1)


def test_a_noisy_api(project: Project) -> None:
    """The first of three runs has all passages on top, the others none: noise 1, and two of six comparisons are red."""
    done = project.command("calibrate", "--runs", "3", FAKE_BEHAVIOUR="noisy")
    assert done.code == 0, done.out + done.err
    lines = done.out.splitlines()
    assert lines[0] == "suite small · 12 questions · 3 equal runs, booted once"
    (row,) = [line.split() for line in lines if line.startswith("hit@1 ")]
    assert row == ["hit@1", "33.3%", "0.0%", "100.0%", "100.0", "pt", "5", "pt", "12", "of", "12", "(100%)"]
    assert "A tolerance of 5 pt on hit@1 is inside this API's noise of 100.0 pt." in lines
    words = (
        "Of 6 comparisons of one of these runs with another, in which nothing changed, the gate is red by gate.policy: "
    )
    assert f"{words}evidence 33%, threshold 33% (now evidence)." in lines
    assert done.err.count("the API is up") == 1
    assert not (project.last_run() / "verdict.json").exists()


def test_the_noise_is_promoted_and_told_by_checks(project: Project) -> None:
    """A baseline of a calibrated run holds its noise; a change inside it is told to be, and red all the same."""
    assert project.command("calibrate", "--runs", "2", FAKE_BEHAVIOUR="noisy").code == 0
    assert project.command("promote", "latest").code == 0
    stored = json.loads((project.root / "baselines" / "small.json").read_text())
    assert stored["fingerprint"]["noise"]["bands"]["hybrid"]["hit_at_1"] == [0, 1, 12, 12, 12]
    assert "noise       2 equal runs on" in project.command("baseline", "show").out
    alone = project.command("compare", "latest")
    assert alone.code == 3
    assert "keeps no baseline: name one with --baseline" in " ".join(alone.out.split())
    assert "there is no baseline" not in alone.out.lower()
    better = project.command("check", FAKE_BEHAVIOUR="noisy")
    assert better.code == 0, better.out
    warnings = {warning["code"]: warning["message"] for warning in project.verdict()["warnings"]}
    assert "hit@1 (hybrid) +50.0 pt (noise 100.0 pt)" in warnings["noise"]
    # the same API asked three times: 1/3 of the first ranks, where the baseline has 1/2; each new start ranks well
    project.config.write_text(f"{project.config.read_text()}recheck: 'off'\n")
    project.edit("concurrency: 4", "concurrency: 4, repeat: 3")
    worse = project.command("check", FAKE_BEHAVIOUR="noisy")
    assert worse.code == 1, worse.out
    warnings = {warning["code"]: warning["message"] for warning in project.verdict()["warnings"]}
    assert "hit@1 (hybrid) −16.7 pt (noise 100.0 pt)" in warnings["noise"]
    assert "which excuses no loss: " in warnings["noise"]


def test_each_run_on_an_api_of_its_own(project: Project) -> None:
    """With --boot-each every run is the first of a fresh API, which here answers the first time alike each time."""
    done = project.command("calibrate", "--runs", "2", "--boot-each", FAKE_BEHAVIOUR="noisy")
    assert done.code == 0, done.out + done.err
    assert done.out.startswith("suite small · 12 questions · 2 equal runs, booted for each")
    assert done.err.count("the API is up") == 2
    assert "Every ranking was the same each time: with 95% confidence" in done.out
    assert "is inside this API's noise" not in done.out


def test_an_api_that_ends_on_the_way_is_not_calibrated(project: Project) -> None:
    """What was answered until then is kept; there is no table, and the exit code says that nothing can be told."""
    done = project.command("calibrate", "--runs", "3", FAKE_BEHAVIOUR="die_after:15")
    assert done.code == 3, done.out + done.err
    assert "asking for time 2: the API" in done.err
    assert "equal runs" not in done.out
    refused = project.command("promote", str(project.last_run()))
    assert refused.code == 3, refused.err
