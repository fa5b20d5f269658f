"""raggate from the command line to the exit code, with a fake API that behaves or does not."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import preloaded
from checkouts import git
from project import Project, make_small_project, processes_with
from raggate.models.service import Started, Workspace
from raggate.pipeline import rerun, result_rows, run_directory
from raggate.service import ask
from raggate.service.backends import command
from stored_rows import plain_rows


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository of six questions without a baseline."""
    return make_small_project(tmp_path)


@pytest.fixture
def promoted(promoted_few: Project, tmp_path: Path) -> Project:
    """The same six questions with a baseline of the healthy API."""
    return promoted_few.copied(tmp_path)


@pytest.fixture
def many(promoted_once: Project, tmp_path: Path) -> Project:
    """The same with 24 questions, where their number matters."""
    return promoted_once.copied(tmp_path)


@pytest.fixture(scope="module")
def worse_once(promoted_few: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The one of six questions, whose newest run is a check of a worse API."""
    project = promoted_few.copied(tmp_path_factory.mktemp("worse"))
    assert project.command("check", FAKE_BEHAVIOUR="worse").code == 1
    return project


@pytest.fixture
def worse(worse_once: Project, tmp_path: Path) -> Project:
    return worse_once.copied(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_partial_results(many: Project, number: signal.Signals) -> None:
    """A signal in the middle ends with exit 130, partial results on disk, and nothing left running."""
    before = many.last_run()
    process = many.start("check", FAKE_BEHAVIOUR="hang_after:6")
    assert process.stderr is not None
    assert any("asked 3 of 24" in line for line in process.stderr)
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130, err
    verdict = many.verdict()
    assert verdict["verdict"] == "interrupted"
    # the hint stands in public, where no path of a machine belongs
    assert verdict["hint"] == f"Partial results are in {many.last_run().relative_to(many.root)}."
    assert many.last_run() != before
    rows = plain_rows(many.last_run()).read_text().splitlines()
    assert 0 < len(rows) < 24
    again = many.command("compare", str(many.last_run()))
    assert (again.code, "interrupted run keeps no baseline" in " ".join(again.out.split())) == (130, True), again.out
    assert (many.compared()["verdict"], many.verdict()) == ("interrupted", verdict)
    assert processes_with(str(many.root)) == []


INTERRUPTED_WHEN_TOLD = """
import signal, sys
from raggate.frontends import console
from raggate.__main__ import main

show = console.show_review

def interrupted(*given, **more):
    signal.raise_signal(signal.SIGTERM)
    show(*given, **more)

console.show_review = interrupted
sys.argv = ["raggate", "check"]
main()
"""


def test_a_signal_after_the_verdict_changes_nothing(promoted: Project) -> None:
    """Once the verdict is written it is told, and is the exit code: `raggate runs` and the process say the same."""
    process = preloaded.start(at=promoted.root, environment={**os.environ}, code=INTERRUPTED_WHEN_TOLD)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, promoted.verdict()["verdict"]) == (0, "pass"), err
    assert "verdict: pass" in out


def test_every_file_of_a_run_is_documented(worse: Project) -> None:
    """What a check leaves in its run directory stands in the table of files, name by name."""
    page = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text(encoding="utf-8")
    table = page.partition("Every run leaves")[2]
    names = [f"{path.name}/" if path.is_dir() else path.name for path in worse.last_run().iterdir()]
    missing = [name for name in names if f"`{name}`" not in table]
    assert missing == []


def test_a_run_of_another_commit_is_promoted_with_a_remark(promoted: Project) -> None:
    """Whoever promotes a run of an older commit reads which one it is, and that later changes are not in it."""
    promoted.commit()
    assert promoted.command("run").code == 0
    run, measured = str(promoted.last_run()), git(promoted.root, "rev-parse", "HEAD")
    assert "is checked out here" not in promoted.command("promote", run).err
    git(promoted.root, "commit", "-q", "--allow-empty", "-m", "later")
    done = promoted.command("promote", run)
    here = git(promoted.root, "rev-parse", "HEAD")
    assert f"was measured at commit {measured[:11]}" in done.err
    assert f"but {here[:11]}" in done.err
    assert "This baseline does not include later changes" in done.err
    assert done.code == 0


ACCEPTED = ("--allow-regression", "--reason", "so", "--allow-no-match", "hybrid")


def test_a_baseline_that_is_named_by_hand_is_previewed(worse: Project) -> None:
    """A change that brings another baseline is told so where the workflow names the file, and no other change is."""
    named = ("check", "--against", "HEAD", "--baseline", "other.json")
    lower = str(worse.last_run())
    (worse.root / "baselines" / "small.json").rename(worse.root / "other.json")
    worse.commit()
    settings = worse.config.read_text()
    worse.config.write_text(settings + "gate: {tolerance: 0.2}\n")
    assert worse.command(*named).code == 0
    assert worse.verdict()["preview"]["baseline"] == "same"
    worse.config.write_text(settings)
    assert worse.command("promote", lower, "--baseline", "other.json", *ACCEPTED).code == 0
    done = worse.command(*named)
    assert done.code == 0, done.out + done.err
    (warning,) = (clause for clause in worse.verdict()["warnings"] if clause["code"] == "edits-gate")
    assert "replaces the baseline" in warning["message"]
    assert "hit@5" in warning["message"]
    (worse.root / "other.json").unlink()
    assert worse.command(*named).code == 3
    assert "would break the gate" in worse.verdict()["reasons"][0]["message"]


def test_an_api_that_fails_with_the_change_s_own_notes_hides_nothing(promoted: Project) -> None:
    """What a change edits is named although its API ends where a note is there that the change brings."""
    promoted.edit("run: [", 'run: [/bin/sh, -c, \'test ! -e "$VAULT_WORK_PATH/new.md" && exec "$@"\', sh, ')
    promoted.commit()
    (promoted.root / "vault" / "work" / "new.md").write_text("# New\n\nNobody asks for it.\n")
    promoted.config.write_text(promoted.config.read_text() + "gate: {tolerance: 1}\n")
    promoted.write_cases(promoted.cases()[1:])
    done = promoted.command("check", "--against", "HEAD")
    assert done.code == 0, done.out + done.err
    codes = [warning["code"] for warning in promoted.verdict()["warnings"]]
    assert codes[:3] == ["preview", "loosens-gate", "edits-gate"]
    assert "the API exited with code 1 before it was ready" in done.out


def test_an_invariant_that_breaks_with_the_change_s_own_notes_is_told(promoted: Project) -> None:
    """What the API breaks only where a note is there that the change brings is a warning of a pass, by its name."""
    paths = 'test ! -e "$VAULT_WORK_PATH/new.md" || export FAKE_BEHAVIOUR=paths:drafts/; exec "$@"'
    promoted.edit("run: [", f"run: [/bin/sh, -c, '{paths}', sh, ")
    promoted.commit()
    (promoted.root / "vault" / "work" / "new.md").write_text("# New\n\nNobody asks for it.\n")
    done = promoted.command("check", "--against", "HEAD")
    assert done.code == 0, done.out + done.err
    (warning,) = [item for item in promoted.verdict()["warnings"] if item["code"] == "breaks-gate"]
    assert "the API breaks invariants: 6 answers returned a passage of no note" in warning["message"]
    assert promoted.verdict()["preview"]["unmet"][0][:2] == ["error", "notes_exist"]


def test_a_setting_that_names_what_is_not_there(project: Project) -> None:
    """It is told with its line in the configuration, and with what to do."""
    line = next(n for n, text in enumerate(project.config.read_text().splitlines(), 1) if "run:" in text)
    project.edit("    run:", "    cwd: nowhere\n    run:")
    done = project.command("check")
    assert done.code == 2, done.err
    assert f"raggate.yml:{line}: api.command.cwd: 'nowhere' is not a directory\n  Name a directory" in done.err


def test_a_change_that_would_break_the_gate_is_told_so(promoted: Project) -> None:
    """A change whose files cannot be used is no pass, as every run after its merge would end so: exit 3, and why."""
    promoted.commit()
    (promoted.root / "golden.jsonl").unlink()
    (promoted.root / "golden.jsonl").symlink_to("/etc/hostname")
    done = promoted.command("check", "--against", "HEAD")
    assert done.code == 3, done.out + done.err
    assert "No gated metric is worse than allowed, but merging this change would break the gate" in done.out
    verdict = promoted.verdict()
    (found,) = verdict["preview"]["breaks"]
    assert "leads out of" in found
    assert found in done.out
    assert [reason["code"] for reason in verdict["reasons"]] == ["breaks-gate"]


WAIVED = "waivers: [{case: anchovy-first, owner: me, reason: because, expires: 2099-01-01}]\n"


def test_a_waiver_of_no_question_would_break_the_gate(promoted: Project) -> None:
    """A change after which a waiver names a question that is not there is no pass, as every run would end so."""
    promoted.config.write_text(promoted.config.read_text() + WAIVED)
    promoted.commit()
    promoted.write_cases([case for case in promoted.cases() if case["id"] != "anchovy-first"])
    done = promoted.command("check", "--against", "HEAD")
    assert (done.code, "waivers[0].case: no question 'anchovy-first'" in done.out) == (3, True), done.out + done.err


def test_an_upgrade_that_does_not_start_is_named(promoted: Project) -> None:
    """A new version often fails to start: the report says what changed before it says what to do."""
    (promoted.root / "go.mod").write_text("require x v1\n")
    promoted.commit()
    (promoted.root / "go.mod").write_text("require x v2\n")
    done = promoted.command("check", "--against", "HEAD", FAKE_BEHAVIOUR="die_at_start")
    assert done.code == 3
    assert "\n  Look first at what changed beside the notes: go.mod (x v1 → v2). " in done.err
    alone = promoted.command("check", FAKE_BEHAVIOUR="die_at_start")
    assert (alone.code, "beside the notes" in alone.err) == (3, False)


def test_what_a_change_ignores_is_previewed_all_the_same(promoted: Project) -> None:
    """A change that commits a note and has git ignore it brings a note."""
    promoted.commit()
    (promoted.root / "vault" / "work" / "Notes" / "decoy.md").write_text("# Decoy\n\nledger matter one is 5 litres\n")
    promoted.commit()
    (promoted.root / ".gitignore").write_text(".raggate/\ndecoy.md\n")
    done = promoted.command("check", "--against", "HEAD~1")
    assert done.code == 0, done.out + done.err
    assert promoted.verdict()["preview"]["vault"] == [{"kind": "added", "note": "work/Notes/decoy.md"}]


@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_link_does_not_lead_to_another_gate_of_the_base(promoted: Project, what: str) -> None:
    """A change cannot have itself judged by a second, looser configuration of the base commit through a link."""
    for folder in ("examples", "rag"):
        (promoted.root / folder).mkdir()
        for name in ("raggate.yml", "golden.jsonl", "vault", "baselines"):
            source = promoted.root / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, promoted.root / folder / name)
    (promoted.root / "examples" / "raggate.yml").write_text(promoted.config.read_text() + "gate: {tolerance: 1}\n")
    promoted.commit()
    if what == "file":
        promoted.config.unlink()
        promoted.config.symlink_to("examples/raggate.yml")
        done = promoted.command("check", "--against", "HEAD", FAKE_BEHAVIOUR="worse")
        assert done.code == 1, done.out + done.err
    else:
        shutil.rmtree(promoted.root / "rag")
        (promoted.root / "rag").symlink_to("examples")
        done = promoted.command("check", "-c", "rag/raggate.yml", "--against", "HEAD", FAKE_BEHAVIOUR="worse")
        assert done.code == 2, done.out + done.err
        assert "symbolic link" in done.err


def test_a_baseline_named_by_hand_is_the_commits_too(worse: Project) -> None:
    """With a revision a baseline in the checkout is read from there; one outside is somebody's own file."""
    worse.commit()
    baseline = worse.root / "baselines" / "small.json"
    outside = worse.root.parent / "kept.json"
    outside.write_bytes(baseline.read_bytes())
    assert worse.command("promote", str(worse.last_run()), "--baseline", str(baseline), *ACCEPTED).code == 0
    named = ("--against", "HEAD", "--baseline", "baselines/small.json")
    assert worse.command("check", *named, FAKE_BEHAVIOUR="worse").code == 1
    assert worse.verdict()["baseline"]["source"].startswith("baselines/small.json@")
    assert worse.command("check", "--against", "HEAD", "--baseline", str(outside)).code == 0


def test_single_stages_agree_with_check_and_are_idempotent(worse: Project) -> None:
    """Scoring and comparing a run directory give what check gave, however often they are repeated."""
    directory = worse.last_run()
    # nothing but the run directory is needed
    (worse.root / "baselines" / "small.json").unlink()
    kept = {name: (directory / name).read_bytes() for name in ("metrics.json", "verdict.json", "summary.md")}
    # a process of its own orders sets otherwise
    for again in (worse.raggate, worse.command):
        assert again("compare", str(directory)).code == 1
        assert {name: (directory / name).read_bytes() for name in kept} == kept
        assert (directory / "compared" / "verdict.json").read_bytes() == kept["verdict.json"]
        shutil.rmtree(directory / "compared")


def test_a_baseline_that_is_not_committed_yet(promoted: Project) -> None:
    """Judged by a commit, a baseline of the working tree is told to be committed, not to be made once more."""
    ignored = promoted.root / ".gitignore"
    ignored.write_text(ignored.read_text() + "baselines/\n")
    promoted.commit()
    ignored.write_text(".raggate/\n")
    done = promoted.command("check", "--against", "HEAD")
    assert done.code == 3, done.out + done.err
    assert "The base commit has no baseline: commit baselines/small.json" in " ".join(done.out.split())
    assert "first run?" not in done.out


def test_another_policy_judges_a_run_directory(worse: Project) -> None:
    """A run directory can be judged by the gate of another configuration, without asking anything again."""
    policy = worse.root / "policy.yml"
    policy.write_text(worse.config.read_text() + "gate: {policy: threshold, tolerance: 1}\n")
    done = worse.command("compare", str(worse.last_run()), "-c", "policy.yml")
    assert done.code == 0, done.out + done.err
    assert (worse.compared()["verdict"], worse.verdict()["verdict"]) == ("pass", "regression")


@pytest.mark.parametrize("words", [("compare",), ("compare", "--golden", "golden.jsonl")], ids=" ".join)
def test_a_verdict_is_not_replaced_by_a_weaker_one(worse: Project, words: tuple[str, ...]) -> None:
    """What decided and is not on disk any more is not taken for good: nothing is decided anew, nothing is written."""
    directory, good = worse.last_run(), worse.root / ".raggate" / "runs"
    passed = next(run for run in sorted(good.iterdir()) if run != directory)
    shutil.copy(passed / result_rows.RESULTS, directory / result_rows.RESULTS)
    before = (directory / "verdict.json").read_bytes()
    done = worse.command(words[0], str(directory), *words[1:])
    assert done.code == 3, done.out + done.err
    assert "ended with regression, but its files alone would pass" in done.err
    assert (directory / "verdict.json").read_bytes() == before
    assert not (directory / "compared").exists()


def test_a_run_is_compared_by_other_labels(worse: Project) -> None:
    """`compare --golden` scores a stored run by another golden set, and its reports say so."""
    worse.write_cases(worse.cases()[1:])
    done = worse.command("compare", str(worse.last_run()), "--golden", "golden.jsonl")
    assert done.code == 1, done.err
    assert worse.compared()["golden_changes"]["removed"] == ["anchovy-first"]
    assert "removed (1): anchovy" in (worse.last_run() / "compared" / "summary.md").read_text()


@pytest.mark.parametrize(
    "asked", [{"question": "what else"}, {"vaults": ["work", "personal"]}, {"folders": ["Notes"]}, {"k": 3}]
)
def test_an_answer_is_one_to_what_was_asked(promoted: Project, asked: dict[str, object]) -> None:
    """An answer that was asked for in other words, vaults or folders than a golden set says is none to its question."""
    directory = promoted.last_run()
    first, *rest = promoted.cases()
    promoted.write_cases([{**first, **asked}, {**rest[0], "difficulty": "hard"}, *rest[1:]])
    run = rerun.by_golden_set(run_directory.read(directory), promoted.root / "golden.jsonl")
    assert [item.case.id for item in run.results] == [case["id"] for case in rest]


def test_two_run_directories_can_be_compared(worse: Project) -> None:
    """A run directory serves as baseline of another. No check gives that verdict, so none is shown with it."""
    now = worse.last_run()
    (good,) = (run for run in now.parent.iterdir() if run != now)
    done = worse.command("compare", str(now), "--baseline", str(good))
    assert done.code == 1
    assert "Questions that broke (6)" in done.out
    assert "raggate check" not in done.out


def test_the_image_is_recorded(promoted: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run and the baseline made of it name the image that was measured, which makes nothing incomparable."""
    image = f"notes-api@sha256:{'a' * 64}"
    start = command.start

    def contained(settings: Any, place: Workspace) -> AbstractContextManager[Started]:
        place.identified(image)
        return start(settings, place)

    monkeypatch.setattr(command, "start", contained)
    assert promoted.command("check").code == 0
    stored = json.loads((promoted.last_run() / "config.json").read_text())
    assert stored["config"]["api_image"] == image
    assert image not in json.dumps(stored["fingerprint"])
    assert promoted.verdict()["config_changes"] == []
    assert promoted.command("promote", str(promoted.last_run())).code == 0
    shown = json.loads(promoted.command("baseline", "show", "--json").out)["result"]
    assert shown["provenance"]["image"] == image


def test_other_systems_numbers_stand_beside_the_own(project: Project) -> None:
    """With score.compat metrics.json has helloworld's numbers too, those of an export of the run."""
    project.edit("ask: {", "score: {compat: [helloworld]}\nask: {retrieval_only: false, ")
    assert project.command("run").code == 0
    directory = project.last_run()
    stored = (directory / "metrics.json").read_text()
    told = json.loads(stored)["compat"]["helloworld"]["hybrid"]
    assert told["recall_at_k_avg"] > 0
    assert project.command("helloworld", "export", str(directory), "--out", "theirs").code == 0
    assert json.loads((project.root / "theirs" / "metrics.json").read_text())["aggregate_metrics"] == told
    # scored again from what is stored, with cut texts, it is the same
    project.command("compare", str(directory))
    assert (directory / "compared" / "metrics.json").read_text() == stored


def test_run_that_failed_is_no_baseline(promoted: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run directory that could not be promoted is nothing to be better than: there is no verdict, and why is told."""
    monkeypatch.setattr(ask, "GIVE_UP_AFTER", 5)
    good = promoted.last_run()
    assert promoted.command("run", FAKE_BEHAVIOUR="error_500").code == 3
    failed = promoted.last_run()
    done = promoted.command("compare", str(good), "--baseline", str(failed))
    assert done.code == 3, done.out
    told = json.loads((good / "compared" / "verdict.json").read_text())
    assert told["reasons"][0]["code"] == "incomparable"
    assert f"run {failed.name} cannot become a baseline: gave up after 5 failures" in told["reasons"][0]["message"]
    assert told["metrics"] == []


def test_stored_run_that_lost_results(promoted: Project) -> None:
    """Results that are gone from a run directory, be they a third or the one that must pass, leave no verdict."""
    cases = promoted.cases()
    cases[5]["must_pass"] = True
    promoted.write_cases(cases)
    promoted.promote()
    directory = promoted.last_run()
    assert promoted.command("compare", str(directory), "--baseline", "baselines/small.json").code == 0
    rows = plain_rows(directory).read_text().splitlines(keepends=True)
    for gone, told in (
        (rows[::3], "2 questions of the golden set lack"),
        ([rows[5]], "1 question of the golden set lack"),
    ):
        plain_rows(directory).write_text("".join(row for row in rows if row not in gone))
        done = promoted.command("compare", str(directory), "--baseline", "baselines/small.json")
        assert done.code == 3, done.out
        reason = json.loads((directory / "compared" / "verdict.json").read_text())["reasons"][0]
        assert reason["code"] == "not-asked"
        assert reason["message"].startswith(told)
        assert f" results: {json.loads(gone[0])['test_case_id']} (hybrid)" in reason["message"]
