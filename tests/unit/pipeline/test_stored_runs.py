"""Run directories side by side: which there are, what a name stands for, what broke last, and what may be deleted."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from checkouts import git
from raggate.base.errors import UsageError
from raggate.pipeline.stored_runs import broken, named, remove, stored_runs
from tables import each_row

FIRST, SECOND, THIRD = "20260101_090000", "20260102_090000", "20260102_090000_2"


def make(out: Path, name: str, *, verdict: dict[str, Any] | None = None, selection: Any = None) -> Path:
    """Write a run directory as far as it is looked at."""
    directory = out / name
    directory.mkdir(parents=True)
    config: dict[str, Any] = {"schema": "raggate/run/1", "suite": "small", "run_id": name}
    config |= {} if selection is None else {"selection": selection}
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "results.jsonl").write_text("{}\n")
    if verdict is not None:
        content = {"schema": "raggate/verdict/1", "verdict": "pass", "exit_code": 0, "flips": [], "fallen": []}
        (directory / "verdict.json").write_text(json.dumps({**content, **verdict}))
    return directory


def flip(case: str, kind: str = "broke") -> dict[str, str]:
    """Write a question that moved."""
    return {"case_id": case, "kind": kind}


def test_the_newest_comes_first(tmp_path: Path) -> None:
    """Runs are ordered by when they began, those of one second by their number, and read for what they say."""
    for name in (SECOND, FIRST, THIRD):
        make(tmp_path, name, verdict={"verdict": "regression"} if name == FIRST else None)
    runs = stored_runs(tmp_path)
    assert [run.name for run in runs] == [THIRD, SECOND, FIRST]
    assert [(run.suite, run.verdict, run.measured, run.partial) for run in runs[1:]] == [
        ("small", "", True, None),
        ("small", "regression", True, None),
    ]
    assert runs[2].started == datetime(2026, 1, 1, 9, tzinfo=UTC)


def test_what_is_no_run_directory(tmp_path: Path) -> None:
    """Other names, links, and directories without a file of raggate's are none; nor is there one in no directory."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "20260101_090001").mkdir()
    (tmp_path / "20261301_090001").mkdir()
    (tmp_path / "20260101_090002").write_text("a file")
    strange = make(tmp_path, "20260101_090003")
    (strange / "config.json").write_text('{"schema": "other/1"}')
    real = make(tmp_path / "elsewhere", FIRST)
    (tmp_path / "20260101_090004").symlink_to(real)
    linked = tmp_path / "20260101_090005"
    linked.mkdir()
    (linked / "config.json").symlink_to(real / "config.json")
    assert stored_runs(tmp_path) == []
    assert stored_runs(tmp_path / "nowhere") == []


@pytest.mark.parametrize("content", ["", '{"schema": "raggate/', "\x00"])
def test_a_damaged_run_is_named(tmp_path: Path, content: str) -> None:
    """Neither `latest` nor `--failed` passes a damaged run over for an older one, and pruning leaves it."""
    make(tmp_path, FIRST, verdict={})
    newest = make(tmp_path, SECOND, verdict={"flips": [flip("a")]})
    (newest / "verdict.json").write_text(content)
    assert stored_runs(tmp_path)[0].verdict == "damaged: verdict.json"
    assert named("latest", tmp_path) == newest
    with pytest.raises(UsageError, match=f"^--failed: {newest}/verdict.json is damaged$") as error:
        broken(tmp_path, "small")
    assert f"`rm -r {newest}`" in error.value.hint
    with pytest.raises(UsageError, match="nothing was deleted"):
        remove(stored_runs(tmp_path)[0])
    (newest / "verdict.json").unlink()
    (newest / "config.json").write_text(content)
    with pytest.raises(UsageError, match=f"^latest: {newest}/config.json is damaged$"):
        named("latest", tmp_path)
    make(tmp_path, THIRD, verdict={"flips": [flip("b")]})
    assert broken(tmp_path, "small") == {"b"}


def test_what_cannot_be_read_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that nobody can look into is named: neither are there no runs, nor is an older one the latest."""
    listed, looked_at = os.scandir, os.lstat
    out = make(tmp_path / "runs", FIRST).parent
    closed = make(tmp_path / "runs", SECOND)

    def refuse(place: Path, here: Path) -> None:
        if Path(place) == here:
            raise PermissionError(errno.EACCES, "Permission denied", str(place))

    def refused(call: Callable[[], object]) -> str:
        with pytest.raises(UsageError) as error:
            call()
        assert "another user" in error.value.hint
        return error.value.message

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda place: (refuse(place, out), listed(place))[1])
        problem = f"{out}: cannot be read, so raggate does not know its runs: Permission denied"
        assert {refused(lambda: stored_runs(out)), refused(lambda: named("latest", out))} == {problem}
    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", lambda place, **_: (refuse(Path(place).parent, closed), looked_at(place))[1])
        assert refused(lambda: named("latest", out)) == problem.replace(str(out), str(closed))


@each_row(
    ("name", "stands_for"),
    [("latest", THIRD), (FIRST, FIRST), ("20260101", FIRST), (SECOND, SECOND), ("20260102_090000_", THIRD)],
)
def test_what_a_name_stands_for(runs: Path, name: str, stands_for: str) -> None:
    """`latest` is the newest, a whole name is itself, and the beginning of one name stands for it."""
    if not (runs / THIRD).exists():
        make(runs, THIRD)
    assert named(name, runs) == runs / stands_for


def test_latest_is_of_the_build_that_is_gated(tmp_path: Path) -> None:
    """What a comparison of two builds asked of another one is not the latest, even where there is no other run."""
    make(tmp_path, FIRST)
    other = {"schema": "raggate/run/1", "config": {"command": "diff", "build": "revision old"}}
    (make(tmp_path, SECOND) / "config.json").write_text(json.dumps(other))
    assert [(run.command, run.build) for run in stored_runs(tmp_path)] == [("diff", "revision old"), ("", "")]
    assert named("latest", tmp_path).name == FIRST
    shutil.rmtree(tmp_path / FIRST)
    with pytest.raises(UsageError, match=r"latest: no run in .* has answers of the configured build"):
        named("latest", tmp_path)


@pytest.mark.parametrize("module", [".raggate/runs/99991231_235959", ".raggate/runs", ".raggate"])
def test_latest_did_not_come_with_a_submodule(tmp_path: Path, module: str) -> None:
    """What lies in a submodule came with a commit, wherever in the way to the run that begins."""
    out = tmp_path / ".raggate" / "runs"
    make(out, "99991231_235959")
    git(tmp_path, "init", "-q")
    place = tmp_path / ".git" / "modules" / "sub"
    place.parent.mkdir()
    git(tmp_path / module, "init", "-q", "--separate-git-dir", str(place))
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{module}")
    with pytest.raises(UsageError, match=r"git tracks .*/99991231_235959, the newest run"):
        named("latest", out)


def test_latest_did_not_come_with_a_commit(tmp_path: Path) -> None:
    """A run that git tracks is refused where it is the newest, and not in the way where it is not."""
    out = tmp_path / ".raggate" / "runs"
    own = make(out, FIRST, verdict={"flips": [flip("c")]})
    forged = make(out, "99991231_235959", verdict={"flips": [flip("c")]})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", str(forged / "config.json"))
    for index in ("", "--split-index"):
        git(tmp_path, "update-index", *index.split())
        for asked in (lambda: named("latest", out), lambda: broken(out, "small")):
            with pytest.raises(UsageError, match=r"git tracks .*/99991231_235959, the newest run") as caught:
                asked()
            assert f"git rm -r {forged}" in str(caught.value.hint)
    assert named(str(forged), out) == forged
    forged.rename(out / "20200101_000000")
    git(tmp_path, "rm", "-r", "-q", "--cached", ".raggate")
    # a checkout whose file system does not tell capital letters apart has this in the same directory
    git(
        tmp_path, "update-index", "--add", "--cacheinfo", f"100644,{'1' * 40},.RagGate/RUNS/20200101_000000/config.json"
    )
    assert named("latest", out) == own
    shutil.rmtree(own)
    with pytest.raises(UsageError, match=r"git tracks .*/20200101_000000"):
        named("latest", out)


@each_row(
    ("name", "problem"),
    [
        ("2026", "'2026' is the beginning of 2 run directories: 20260102_090000, 20260101_090000"),
        ("2027", "'2027': no such directory, and no run in"),
    ],
)
def test_a_name_that_stands_for_no_run(runs: Path, name: str, problem: str) -> None:
    """The beginning of several names, or of none, is an error that lists them or says where to look."""
    with pytest.raises(UsageError) as caught:
        named(name, runs)
    assert problem in caught.value.message


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a directory with two runs."""
    make(tmp_path, FIRST)
    make(tmp_path, SECOND)
    return tmp_path


def test_what_was_broken_when_it_was_last_asked(tmp_path: Path) -> None:
    """Runs are looked at from the newest back to a whole one; a later answer to a question counts more."""
    make(tmp_path, FIRST, verdict={"exit_code": 1, "flips": [flip("old")]})
    whole = {"exit_code": 1, "flips": [flip("a"), flip("b"), flip("up", "fixed")], "fallen": [flip("c", "fell")]}
    make(tmp_path, SECOND, verdict=whole)
    make(tmp_path, THIRD, verdict={"exit_code": 1, "partial": {"asked": ["a", "d"], "of": 9}, "flips": [flip("d")]})
    assert broken(tmp_path, "small") == {"b", "c", "d"}
    with pytest.raises(UsageError, match="no run of suite 'other'"):
        broken(tmp_path, "other")


@pytest.mark.parametrize("part", [None, {"asked": ["a", "b", "c"], "of": 9}])
@pytest.mark.parametrize("exit_code", [3, 4, 130, None, [], False, True, 0.0, "0"])
def test_a_run_that_could_not_tell_clears_no_question(tmp_path: Path, part: Any, exit_code: Any) -> None:
    """Cut short, it may not have asked them: what it saw broken is added to what the last whole run says."""
    whole = {"exit_code": 1, "flips": [flip("a")], "fallen": [flip("b", "fell")]}
    make(tmp_path, FIRST, verdict=whole)
    make(tmp_path, SECOND, verdict={"exit_code": exit_code, "partial": part, "flips": [flip("c")]})
    make(tmp_path, THIRD, verdict={"exit_code": exit_code, "partial": part})
    assert broken(tmp_path, "small") == set("abc")


def test_a_pass_tolerates_what_fell(tmp_path: Path) -> None:
    """Of a run that is not red only what broke, or had to pass and did not, is broken."""
    make(tmp_path, FIRST, verdict={"fallen": [flip("c", "fell"), flip("m", "missed")], "flips": [flip("a")]})
    assert broken(tmp_path, "small") == {"a", "m"}


@pytest.mark.parametrize(
    "damage", [{"flips": "x"}, {"flips": 5}, {"flips": [1, None]}, {"partial": 3}, {"partial": {"asked": {}}}]
)
def test_a_strange_verdict_breaks_nothing(tmp_path: Path, damage: dict[str, Any]) -> None:
    """A verdict of another shape names no question, and is no crash."""
    make(tmp_path, FIRST, verdict=damage)
    with pytest.raises(UsageError, match="no question was broken"):
        broken(tmp_path, "small")


def test_deleting_follows_no_link(tmp_path: Path) -> None:
    """What a link in a run directory leads to stays, and a directory that was exchanged for a link is left alone."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "note.md").write_text("keep")
    first, second = make(tmp_path / "runs", FIRST), make(tmp_path / "runs", SECOND)
    (first / "link").symlink_to(precious)
    newest, oldest = stored_runs(tmp_path / "runs")
    remove(oldest)
    assert not first.exists()
    assert (precious / "note.md").read_text() == "keep"
    second.rename(tmp_path / "moved")
    second.symlink_to(tmp_path / "moved")
    with pytest.raises(UsageError, match="not a run directory any more"):
        remove(newest)
    assert (tmp_path / "moved" / "config.json").exists()
