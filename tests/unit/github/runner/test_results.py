"""What a run directory, or the lack of one, becomes for the steps that follow."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from raggate.base.errors import ExitCode
from raggate.github.runner import results

ACTION = yaml.load((Path(__file__).parents[4] / "action.yml").read_text(), yaml.CSafeLoader)


def test_every_promised_output_is_set_without_a_run() -> None:
    """Every output of action.yml is set even when nothing was started, and none of them looks like a pass."""
    found = results.outputs(None, 2, Path("/work"))
    assert list(found) == list(ACTION["outputs"])
    assert (found["verdict"], found["exit-code"], found["cases"]) == ("usage error", "2", "0")
    assert found["run-directory"] == ""


def test_outputs_of_a_run(tmp_path: Path) -> None:
    """Paths are relative to the workspace, and counts are those of the files, of each question one."""
    directory = tmp_path / ".raggate" / "runs" / "1"
    directory.mkdir(parents=True)
    moved = (("broke", "q1", "bm25"), ("broke", "q1", "hybrid"), ("broke", "q2", "hybrid"), ("fixed", "q3", "hybrid"))
    flips = [{"kind": kind, "case_id": case, "mode": mode} for kind, case, mode in moved]
    (directory / "verdict.json").write_text(json.dumps({"flips": flips, "warnings": [{}]}))
    (directory / "results.jsonl").write_text("".join(f'{{"test_case_id": "{case}"}}\n' for case in ("q1", "q2", "q1")))
    assert results.outputs(directory, 1, tmp_path) == {
        "verdict": "regression",
        "exit-code": "1",
        "run-directory": ".raggate/runs/1",
        "cases": "2",
        "broke": "2",
        "fixed": "1",
        "warnings": "1",
        "comment-url": "",
        "pull-request-url": "",
        "suites": "",
    }


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"flips"'])
def test_a_broken_verdict_file_counts_nothing(tmp_path: Path, content: bytes) -> None:
    """A verdict file that cannot be read leaves the verdict to the exit code."""
    for name in ("verdict.json", "metrics.json"):
        (tmp_path / name).write_bytes(content)
    assert results.outputs(tmp_path, 3, tmp_path)["verdict"] == "cannot tell"


def test_every_exit_code_has_a_name() -> None:
    """Each exit code has a name of its own, and an unknown one is an internal error, never a pass."""
    assert len({results.name_of(code) for code in ExitCode}) == len(ExitCode)
    assert results.name_of(137) == "internal error"


def test_summary_of_a_run_that_was_interrupted_after_its_report(tmp_path: Path) -> None:
    """A report that is no longer how the run ended is shown below how it did end."""
    (tmp_path / "verdict.json").write_text('{"exit_code": 0}')
    (tmp_path / "summary.md").write_text("## raggate: pass\n")
    assert results.summary(tmp_path, None, 0) == "## raggate: pass\n"
    assert results.summary(tmp_path, None, 130).startswith("## ❔ raggate: interrupted\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_are_given_to_the_owner_of_the_workspace(tmp_path: Path) -> None:
    """What root left in the workspace is its owner's afterwards, with the directories above; links are not followed."""
    outside = tmp_path / "outside"
    outside.write_text("")
    workspace = tmp_path / "workspace"
    directory = workspace / "a" / "runs" / "1"
    directory.mkdir(parents=True)
    (directory / "file").write_text("")
    (directory / "link").symlink_to(outside)
    os.chown(workspace, 1234, 1235)
    results.give_back(directory, workspace)
    for path in (workspace / "a", workspace / "a" / "runs", directory, directory / "file", directory / "link"):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (1234, 1235)
    assert outside.stat().st_uid == 0
    results.give_back(tmp_path, workspace)
    assert outside.stat().st_uid == 0


def test_a_summary_that_is_a_link_is_not_published(tmp_path: Path) -> None:
    """The step summary has nothing of a file outside the run directory that a link in it leads to."""
    (tmp_path / "secret").write_text("TOKEN")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "verdict.json").write_text('{"exit_code": 0}')
    (tmp_path / "run" / "summary.md").symlink_to(tmp_path / "secret")
    assert "TOKEN" not in results.summary(tmp_path / "run", None, 0)
