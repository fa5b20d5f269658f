"""A run that stops early, from the configuration to every report; what it never says, and what takes no part in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from project import Project
from raggate.models.run import Result
from raggate.pipeline import run_directory
from raggate.pipeline.stopping import EnoughHeardError, Stopping

FIRST = "Partial: stopped early, after "


@pytest.fixture
def stopping(promoted_once: Project, tmp_path: Path) -> Project:
    """A repository with a baseline of the healthy API, whose runs stop when nothing can undo that they are red."""
    return configured(promoted_once.copied(tmp_path), "certain")


def configured(project: Project, stop: str, *more: str) -> Project:
    """Set `gate.early_stop`, and other keys of the gate."""
    project.edit("ask: {", f"gate: {{{', '.join([f'early_stop: {stop}', *more])}}}\nask: {{")
    project.edit("concurrency: 4", "concurrency: 1")
    return project


def named(project: Project, name: str) -> None:
    """Give the newest run a fixed name and time, by which later runs draw their order: the same in every test."""
    path = project.last_run() / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "run_id": name, "started": "2026-11-01T00:00:00Z"}))


def asked(project: Project) -> int:
    """Count the answers of the newest run."""
    return len(run_directory.read(project.last_run()).results)


def test_an_answer_under_way_when_it_stopped_does_not_count(stopping: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes in after the one that ended it is no part of the run, and that nothing more is asked is said once."""
    hear, ended = Stopping.hear, list[EnoughHeardError]()

    def heard_by_another(self: Stopping, result: Result) -> None:
        try:
            hear(self, result)
        except EnoughHeardError as error:
            ended.append(error)

    monkeypatch.setattr(Stopping, "hear", heard_by_another)
    done = stopping.command("check", FAKE_BEHAVIOUR="worse")
    assert done.code == 1, done.err
    assert asked(stopping) == 2
    assert len(ended) == done.err.count("asking no further") == 1


def test_a_run_that_is_lost_stops(stopping: Project) -> None:
    """It ends with exit 1, asks no more, and terminal, summary, page and files say how far it came and why."""
    done = stopping.command("check", FAKE_BEHAVIOUR="worse")
    assert done.code == 1, done.err
    assert asked(stopping) == 2
    cause = "hit_at_1 (hybrid) falls by at least 8.3 pt in the end, allowed 5 pt"
    assert f"raggate: asking no further: asking the rest cannot make it a pass: {cause}\n" in done.err
    assert "· partial: stopped early, after 2 of 24 questions ·" in done.out
    assert f"Asking the rest cannot make it a pass: {cause}." in " ".join(done.out.split())
    assert "verdict: regression (exit 1)" in done.out
    assert "More may have broken: with `early_stop: off` under `gate` everything is asked." in " ".join(
        done.out.split()
    )
    assert "asked twice" not in done.out
    summary = (stopping.last_run() / "summary.md").read_text()
    assert summary.startswith(
        f"## ❌ raggate: regression (suite small)\n\n> [!CAUTION]\n> **{FIRST}2 of 24 questions.**"
    )
    assert summary.count("Asking the rest cannot make it a pass") == 1
    assert "pass, " not in summary
    page = (stopping.last_run() / "report.html").read_text()
    assert f"{FIRST}2 of 24 questions" in page
    verdict = stopping.verdict()
    assert (verdict["verdict"], verdict["exit_code"], verdict["reasons"][0]["code"]) == ("regression", 1, "early-stop")
    assert (len(verdict["partial"]["asked"]), verdict["partial"]["of"], verdict["partial"]["early"]) == (2, 24, True)
    assert verdict["early_stop"] == {
        "after": 2,
        "cause": cause,
        "certain": True,
        "evidence": 0.0,
        "false_alarms": 0.0,
        "metric": "hit_at_1",
        "mode": "hybrid",
        "of": 24,
    }
    metrics = json.loads((stopping.last_run() / "metrics.json").read_text())
    assert (metrics["complete"], metrics["partial"]) == (False, {"asked": 2, "of": 24})


def test_a_run_that_may_pass_asks_everything(stopping: Project) -> None:
    """A healthy API is asked everything, and its run is that of a suite without the key, but for the key."""
    without = stopping.last_run()
    assert stopping.command("check").code == 0
    assert stopping.last_run() != without
    assert "partial" not in stopping.verdict()
    assert asked(stopping) == 24
    runs = (without, stopping.last_run())
    values = [json.loads((path / "metrics.json").read_text())["by_retriever"] for path in runs]
    assert values[0] == values[1]
    order = [[item.case.id for item in run_directory.read(path).results] for path in runs]
    assert order[0] == order[1]


def test_a_red_run_is_red_wherever_its_losses_stand(stopping: Project) -> None:
    """Wherever the questions that broke stand in the order, a red run is red, stopped or not."""
    for lost in ("anchovy", "kernel", "ledger"):
        assert stopping.command("check", FAKE_BEHAVIOUR=f"lose:{lost}").code == 1
        verdict = stopping.verdict()
        assert verdict["verdict"] == "regression"
        assert ("early_stop" in verdict) == ("partial" in verdict)


def test_as_good_as_certain_ends_sooner(promoted_once: Project, tmp_path: Path) -> None:
    """With a share of false alarms, a run stops before it is certain, and says what that share is."""
    project = promoted_once.copied(tmp_path)
    assert project.command("run", FAKE_BEHAVIOUR="lose:grams").code == 0
    named(project, "first")
    why = ("--allow-regression", "--reason", "half can be gained", "--allow-no-match", "difficulty=hard")
    done = project.command("promote", "latest", *why)
    assert done.code == 0, done.err
    configured(project, "0.1")
    assert project.command("check", FAKE_BEHAVIOUR="worse").code == 1
    stop = project.verdict()["early_stop"]
    assert (stop["certain"], stop["false_alarms"]) == (False, 0.1)
    assert stop["evidence"] >= 10
    assert (
        "is stopped like this in at most 10% of the orders to ask in" in (project.last_run() / "summary.md").read_text()
    )
    soon = asked(project)
    project.edit("early_stop: 0.1", "early_stop: certain")
    assert project.command("check", FAKE_BEHAVIOUR="worse").code == 1
    assert project.verdict()["early_stop"]["certain"]
    assert asked(project) > soon


def test_must_pass_questions_are_all_asked(stopping: Project) -> None:
    """They come first, each of them is asked, and the loss of one ends the run."""
    cases = [{**case, "must_pass": case["tags"] == ["work"]} for case in stopping.cases()]
    stopping.write_cases(cases)
    stopping.edit("early_stop: certain", "early_stop: certain, policy: evidence")
    assert stopping.command("check", FAKE_BEHAVIOUR="lose:kernel").code == 1
    verdict = stopping.verdict()
    assert (verdict["early_stop"]["after"], verdict["early_stop"]["metric"]) == (12, None)
    assert set(verdict["partial"]["asked"]) == {case["id"] for case in cases if case["must_pass"]}
    assert "must pass, and nothing expected is within rank 5" in verdict["early_stop"]["cause"]


def test_it_stays_a_part(stopping: Project) -> None:
    """No later command makes it whole: it is not promoted, not a baseline, and no edit of its mark helps."""
    assert stopping.command("check", FAKE_BEHAVIOUR="worse").code == 1
    part = stopping.last_run()
    again = stopping.command("compare", str(part))
    assert again.code == 1
    assert "asking the rest cannot make it a pass" in " ".join(again.out.split()).lower()
    done = stopping.command("promote", str(part), "--allow-regression", "--reason", "r")
    assert done.code == 3
    assert "it is partial: stopped early, after 2 of 24 questions" in done.err
    assert stopping.command("check", "--run", str(part)).code == 2
    whole = next(run for run in part.parent.iterdir() if run != part)
    held = stopping.command("compare", str(whole), "--baseline", str(part))
    assert held.code == 3
    assert edited(stopping, part, lambda config: config.pop("selection")) == 3
    assert edited(stopping, part, lambda config: config["selection"].update(early=False)) == 1
    assert edited(stopping, part, lambda config: config["selection"].update(asked=["anchovy-first"])) != 0


def test_a_mark_makes_nothing_red_either(stopping: Project) -> None:
    """A whole run that is marked as stopped is a part; nothing says that it is red, as its answers do not show it."""
    assert stopping.command("check").code == 0
    whole, ids = stopping.last_run(), [case["id"] for case in stopping.cases()]
    mark = {"asked": ids, "of": 24, "words": "", "early": True}
    assert edited(stopping, whole, lambda config: config.update(selection=mark)) == 5


def edited(project: Project, directory: Path, change: object) -> int:
    """Judge a copy of a run directory whose metadata was changed, and give the exit code."""
    forged = project.root / ".raggate" / "runs" / f"2099010{len(list(directory.parent.iterdir())) % 9 + 1}_000000"
    shutil.copytree(directory, forged)
    config = json.loads((forged / "config.json").read_text())
    change(config)  # type: ignore[operator]
    (forged / "config.json").write_text(json.dumps(config))
    (forged / "verdict.json").unlink()
    code = project.command("compare", str(forged)).code
    shutil.rmtree(forged)
    return code


def test_a_known_noise_asks_everything(promoted_once: Project, tmp_path: Path) -> None:
    """Where the baseline knows noise, a loss may be taken back at the end, so everything is asked, which is said."""
    project = configured(promoted_once.copied(tmp_path), "certain")
    assert project.command("run", FAKE_BEHAVIOUR="noisy").code == 0
    assert project.command("promote", "latest", "--allow-regression", "--reason", "noisy").code == 0
    done = project.command("check", FAKE_BEHAVIOUR="worse")
    assert "gate.early_stop: all is asked, as the API is known to be noisy" in done.err
    assert done.code != 0
    assert asked(project) == 24


def test_without_a_baseline_everything_is_asked(stopping: Project) -> None:
    """Nothing is red without a baseline, so nothing stops."""
    (stopping.root / "baselines" / "small.json").unlink()
    done = stopping.command("check", FAKE_BEHAVIOUR="worse")
    assert done.code == 3
    assert "gate.early_stop: all is asked, as there is no baseline" in done.err
    assert asked(stopping) == 24


@pytest.mark.parametrize(
    "arguments", [("check", "--workers", "2"), ("check", "--answers", "kept"), ("plan", "--shards", "2")]
)
def test_what_asks_elsewhere_is_refused(stopping: Project, arguments: tuple[str, ...]) -> None:
    """Several processes, shards and kept answers keep no drawn order: they are refused, and nothing is started."""
    before = list((stopping.root / ".raggate" / "runs").iterdir())
    done = stopping.command(*arguments)
    assert done.code == 2
    assert "with gate.early_stop one process asks the questions, in an order that is drawn" in done.err
    assert list((stopping.root / ".raggate" / "runs").iterdir()) == before


def test_a_part_that_somebody_chose_asks_all_of_it(stopping: Project) -> None:
    """What a command line chooses is asked whole."""
    done = stopping.command("check", "--limit", "6", FAKE_BEHAVIOUR="worse")
    assert done.code == 1
    assert asked(stopping) == 6
    assert "early_stop" not in stopping.verdict()


def test_an_api_that_fails_is_no_loss(stopping: Project) -> None:
    """Calls that fail, and an API that dies, end without a verdict as ever."""
    for behaviour in ("error_500", "die_after:3"):
        assert stopping.command("check", FAKE_BEHAVIOUR=behaviour).code == 3
        assert "early_stop" not in stopping.verdict()


def test_an_answer_that_takes_without_end_is_stopped(stopping: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is labelled as it comes in has a deadline, as all work on answers: beyond it nobody can tell."""

    def slow(_: object) -> object:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            time.sleep(0.001)
        raise AssertionError("nothing stopped it")

    monkeypatch.setattr("raggate.pipeline.stopping._scoring", lambda _: slow)
    monkeypatch.setattr("raggate.text.deadlines.ANSWERS_S", -0.9)
    done = stopping.command("check")
    assert done.code == 3, done.err
    assert "1 answer could not be judged within 0 s" in done.err


def test_the_base_says_whether_it_stops(promoted_once: Project, tmp_path: Path) -> None:
    """A change that turns it on is asked everything, and is named as one that loosens the gate."""
    project = promoted_once.copied(tmp_path)
    project.edit("concurrency: 4", "concurrency: 1")
    project.commit()
    project.edit("ask: {", "gate: {early_stop: 0.1}\nask: {")
    assert project.command("check", "--against", "HEAD", FAKE_BEHAVIOUR="worse").code == 1
    assert asked(project) == 24
    assert "gate.early_stop" in (project.last_run() / "summary.md").read_text()
    assert "gate.early_stop" in project.verdict()["preview"]["loosened"]


def test_who_asks_everything_is_told_whose_key_counts(stopping: Project) -> None:
    """Where the base commit stops the run, the advice says that its key is not the one of the files here."""
    stopping.commit()
    done = stopping.command("check", "--against", "HEAD", FAKE_BEHAVIOUR="worse")
    said = " ".join(done.out.split())
    assert "with `early_stop: off` under `gate` and without `--against` everything is asked." in said


def test_a_killed_run_goes_on_in_the_same_order(stopping: Project) -> None:
    """What was answered before counts where it stands in the order, and nothing is asked twice."""
    stopping.commit()
    process = stopping.start("check", FAKE_BEHAVIOUR="slow:150")
    journal = wait_for_answers(stopping, 4)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    answered = len(journal.read_text().splitlines())
    done = stopping.command("check", "--resume", journal.parent.name, FAKE_BEHAVIOUR="worse")
    assert done.code == 1, done.err
    verdict = stopping.verdict()
    assert verdict["early_stop"]["after"] == answered + 2
    assert asked(stopping) == answered + 2


def wait_for_answers(project: Project, number: int) -> Path:
    """Wait until a run has so many answers on disk, and give the file."""
    for _ in range(400):
        for path in (project.root / ".raggate" / "runs").glob("*/asked.jsonl"):
            if path.read_text().count("\n") >= number:
                return path
        time.sleep(0.05)
    raise AssertionError("no answers came")
