"""Runs by name, listed and pruned from the command line; and a verdict that no comparison overwrites."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from project import Project


@pytest.fixture(scope="module")
def checked_once(promoted_once: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with a baseline and two runs more: one that passes, and a partial one."""
    project = promoted_once.copied(tmp_path_factory.mktemp("checked"))
    assert project.command("check").code == 0
    assert project.command("check", "--limit", "1").code == 5
    return project


@pytest.fixture
def checked(checked_once: Project, tmp_path: Path) -> Project:
    return checked_once.copied(tmp_path)


def test_runs_are_listed(checked: Project) -> None:
    """The newest comes first, each with its verdict, how much it asked and its size; as JSON too."""
    lines = checked.command("runs").out.splitlines()
    assert lines[0].split() == ["run", "when", "(UTC)", "suite", "made", "by", "verdict", "asked", "size"]
    assert re.fullmatch(r"\S+ +\S+ \S+ +small +check +partial +1 of 24 +\d+ kB", lines[1])
    assert re.fullmatch(r"\S+ +\S+ \S+ +small +check +pass +all +\d+ kB", lines[2])
    assert re.fullmatch(r"\S+ +\S+ \S+ +small +run +- +all +\d+ kB", lines[3])
    assert re.fullmatch(r"3 runs, .* in \.raggate/runs", lines[4])
    stored = json.loads(checked.command("runs", "--json").out)["result"]
    assert [run["verdict"] for run in stored["runs"]] == ["partial", "pass", None]
    assert stored["runs"][0]["partial"] == {"asked": 1, "of": 24}


def test_a_run_by_its_name(checked: Project) -> None:
    """`latest` and the beginning of a name stand for a run wherever one is taken."""
    names = [run["id"] for run in json.loads(checked.command("runs", "--json").out)["result"]["runs"]]
    assert checked.command("compare", "latest").code == 5
    assert checked.command("compare", names[1]).code == 0
    assert checked.command("compare", names[1], "--baseline", names[2]).code == 0
    done = checked.command("promote", "latest")
    assert done.code == 3
    assert names[0] in done.err
    done = checked.command("compare", names[0][:4])
    assert done.code == 2
    assert "is the beginning of 3 run directories" in done.err


def test_latest_is_no_directory_of_a_change(checked: Project) -> None:
    """A run directory that a change brought along under this name does not stand for the newest run."""
    runs = json.loads(checked.command("runs", "--json").out)["result"]["runs"]
    shutil.copytree(checked.root / ".raggate" / "runs" / runs[1]["id"], checked.root / "latest")
    assert checked.command("compare", "latest").code == 5
    assert checked.command("diff", "latest", runs[0]["id"]).code == 2
    assert checked.command("promote", "latest").code == 3
    assert checked.command("promote", "./latest", "--dry-run").code == 0


def test_a_comparison_leaves_the_verdict(checked: Project) -> None:
    """`compare` writes its reports beside those of the run, which stay byte for byte."""
    run = checked.last_run()
    before = {name: (run / name).read_bytes() for name in ("verdict.json", "summary.md")}
    assert checked.command("compare", "latest").code == 5
    assert {name: (run / name).read_bytes() for name in before} == before
    assert (run / "compared" / "verdict.json").exists()


def test_old_runs_are_deleted(checked: Project) -> None:
    """A dry run deletes nothing; then all but the newest go, and what raggate did not make or git tracks stays."""
    runs = checked.root / ".raggate" / "runs"
    checked.commit()
    forged = runs / "99991231_235959"
    shutil.copytree(checked.last_run(), forged)
    subprocess.run(["git", "add", "--force", forged], cwd=checked.root, check=True)
    (runs / "mine").mkdir()
    assert checked.command("runs", "prune").code == 2
    assert "2 runs, " in checked.command("runs", "prune", "--keep", "1", "--dry-run").out
    assert len(list(runs.iterdir())) == 5
    newest = json.loads(checked.command("runs", "--json").out)["result"]["runs"][1]["id"]
    assert "1 run left" in checked.command("runs", "prune", "--keep", "1").out
    assert {path.name for path in runs.iterdir()} == {newest, "mine", forged.name}


def test_a_damaged_file_is_named(checked: Project) -> None:
    """A damaged file of a run directory is named: its copy of the baseline, and files that `compare` can do without."""
    name = json.loads(checked.command("runs", "--json").out)["result"]["runs"][1]["id"]
    for file in ("verdict.json", "aside.json", "baseline.json"):
        path = checked.root / ".raggate" / "runs" / name / file
        before = path.read_bytes()
        path.write_text("")
        done = checked.command("compare", name)
        assert done.code == 2
        assert f"runs/{name}/{file}" in done.err
        assert ("Delete this file" in done.err) == (file != "baseline.json")
        assert "baselines/small.json" not in done.err
        path.write_bytes(before)
    path = checked.root / ".raggate" / "runs" / name / "verdict.json"
    path.write_text("")
    assert f"verdict.json is damaged. Delete the run: `rm -r .raggate/runs/{name}`" in checked.command("runs").out
