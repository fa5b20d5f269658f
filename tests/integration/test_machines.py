"""What programs get: the same verdict as JSON, from Python and from pytest."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import raggate
from here import Done
from project import PLUGIN, Project
from raggate.base.jsonio import as_dict
from stored_rows import plain_rows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project(promoted_few: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a repository of six questions with a baseline, in which tests only leave more runs."""
    return promoted_few.copied(tmp_path_factory.mktemp("machines"))


@pytest.fixture(scope="module")
def red_by_json(project: Project) -> Done:
    """Return another one, told as JSON."""
    return project.command("check", "--json", FAKE_BEHAVIOUR="worse")


def test_the_same_from_python(project: Project, red_by_json: Done, capsys: pytest.CaptureFixture[str]) -> None:
    """`raggate.check` gives the verdict of the command line as an object, and prints nothing."""
    heard: list[str] = []
    verdict = raggate.check(project.config, say=heard.append, environment={"FAKE_BEHAVIOUR": "worse", "PATH": ""})
    by_command = json.loads(red_by_json.out)["result"]
    own = {"run_id", "run_directory"}
    assert isinstance(verdict, raggate.Verdict)
    assert not verdict.passed
    told_in_json = json.loads(json.dumps({key: value for key, value in as_dict(verdict).items() if key not in own}))
    assert _without_traces(told_in_json) == _without_traces({k: v for k, v in by_command.items() if k not in own})
    assert verdict.run_directory.is_dir()
    assert verdict.lost[0].question in str(verdict)
    assert capsys.readouterr() == ("", "")


def test_a_lost_question_has_its_trace(project: Project, red_by_json: Done) -> None:
    """The id that a question was sent with stands beside it everywhere; two runs share none; it can be left out."""
    done = project.command("check", FAKE_BEHAVIOUR="worse")
    run = project.last_run()
    rows = [json.loads(line)["result"] for line in plain_rows(run).read_text().splitlines()]
    ids = {row["trace_id"] for row in rows}
    assert len(ids) == len(rows) == 6
    flips = json.loads((run / "verdict.json").read_text())["flips"]
    assert {flip["trace_id"] for flip in flips} <= ids
    assert f"trace: {flips[0]['trace_id']}" in done.out
    assert f"trace: `{flips[0]['trace_id']}`" in (run / "summary.md").read_text()
    again = json.loads(project.command("compare", str(run), "--json").out)["result"]
    assert {question["trace_id"] for question in again["lost"]} == {flip["trace_id"] for flip in flips}
    other = json.loads(red_by_json.out)["result"]
    assert not {question["trace_id"] for question in other["lost"]} & ids


def _without_traces(verdict: dict[str, Any]) -> dict[str, Any]:
    # a busy machine may be slower the second time
    verdict["warnings"] = [warning for warning in verdict["warnings"] if warning["code"] != "slower"]
    for question in verdict["lost"]:
        question.pop("trace_id")
    return verdict


@pytest.mark.parametrize("argument", ["config", "against", "baseline", "out"])
@pytest.mark.parametrize("value", ["a\0b", "a\ud800b"])
def test_a_name_that_no_file_has(project: Project, argument: str, value: str) -> None:
    """A null byte and a lone surrogate are named with their argument, as any other wrong value."""
    with pytest.raises(raggate.RunFailed) as failed:
        raggate.check(**{"config": project.config, argument: value})
    assert failed.value.exit_code == 2
    problem = "expected a name without null bytes and lone surrogates"
    assert failed.value.message == f"{argument}: {problem}, found {value!r}"


def test_errors_of_python(project: Project, tmp_path: Path) -> None:
    """What ends without a verdict is raised, with exit code and hint, and once a run has begun with its directory."""
    with pytest.raises(raggate.RunFailed, match="no such file") as missing:
        raggate.check(tmp_path / "raggate.yml")
    assert (missing.value.exit_code, missing.value.directory) == (2, None)
    with pytest.raises(raggate.RunFailed) as failed:
        raggate.check(project.config, environment={"FAKE_BEHAVIOUR": "die_at_start", "PATH": ""})
    assert failed.value.exit_code == 3
    assert failed.value.directory is not None
    assert (failed.value.directory / "summary.md").is_file()


def test_the_names_of_the_package() -> None:
    """Every name that `raggate` promises can be imported."""
    assert {name for name in raggate.__all__ if getattr(raggate, name, None) is None} == set()


def test_a_test_of_a_user(project: Project) -> None:
    """A test that takes the fixture fails for a regression with the questions in its message, and passes for a pass."""
    (project.root / "test_rag.py").write_text(
        "def test_retrieval(rag_gate):\n"
        "    verdict = rag_gate()\n"
        "    assert verdict.passed, str(verdict)\n\n"
        "def test_a_change(rag_gate, monkeypatch):\n"
        "    monkeypatch.setenv('FAKE_BEHAVIOUR', 'worse')\n"
        "    test_retrieval(rag_gate)\n\n"
        "def test_nothing_else():\n    pass\n"
    )
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert entry == {"raggate": PLUGIN}
    out = (done := project.run_pytest()).out
    assert "1 failed, 2 passed" in out, out + done.err
    assert "test_rag.py::test_retrieval PASSED" in out
    assert "test_rag.py::test_a_change FAILED" in out
    assert "regression: " in out
    assert "questions broke" in out.lower()
