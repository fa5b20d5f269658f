"""What programs get: every command as JSON by the shipped schema, the same verdict from Python, and from pytest."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import raggate
from project import Project, make_project
from raggate.cli import main
from raggate.text.struct_fields import as_dict
from stored_rows import plain_rows

VALID = Draft202012Validator(json.loads((Path(main.__file__).parent / "output.schema.json").read_text()))
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Give a repository with a baseline, and one check that ended with a regression."""
    made = make_project(tmp_path_factory.mktemp("machines"))
    made.promote()
    assert made.command("check", FAKE_BEHAVIOUR="worse").code == 1
    return made


def told(project: Project, *arguments: str, **environment: str) -> dict[str, Any]:
    """Run a command; what it prints is one document that the schema accepts."""
    done = project.command(*arguments, "--json", **environment)
    document: dict[str, Any] = json.loads(done.out)
    VALID.validate(document)
    assert document["exit_code"] == done.code
    assert document["command"] == " ".join(arguments[: len(document["command"].split())])
    return document


def test_a_regression(project: Project) -> None:
    """The document names the verdict, the questions that were lost and the run directory; words go elsewhere."""
    done = project.command("check", "--json", FAKE_BEHAVIOUR="worse")
    document = json.loads(done.out)
    VALID.validate(document)
    result = document["result"]
    assert (done.code, document["exit_code"], result["outcome"]) == (1, 1, "regression")
    assert document["error"] is None
    assert result["lost"]
    assert {question["kind"] for question in result["lost"]} <= {"broke", "fell", "missed"}
    assert Path(result["run_directory"], "verdict.json").is_file()
    assert "asked 24 of 24" in done.err


def test_every_way_to_look_again(project: Project, tmp_path: Path) -> None:
    """The commands on stored runs, questions and baselines answer by the schema too."""
    run = str(project.last_run())
    out = str(tmp_path)
    anchor = "Notes/anchovy.md#Second"
    for words in (
        ("compare", run),
        ("score", run),
        ("report", run),
        ("promote", run, "--dry-run", "--allow-regression", "--reason", "a test", "--allow-no-match", "hybrid"),
        ("lint",),
        ("baseline", "show"),
        ("golden", "add", "How heavy is the second anchovy?", "--anchor", anchor, "--vault", "personal", "--dry-run"),
        ("golden", "propose", "--proposals", f"{out}/proposals.jsonl"),
        ("export", "run", run, f"{out}/run.trec"),
        ("export", "corpus", "vault/work", f"{out}/beir"),
        ("convert", "golden.jsonl", f"{out}/q.json", "--from", "raggate", "--to", "substrate-array"),
        ("helloworld", "export", run, "--out", f"{out}/helloworld"),
        ("helloworld", "redact", f"{out}/helloworld", "--out", f"{out}/redacted"),
        ("kebab", "export", run, "--out", f"{out}/kebab"),
        ("substrate", "results", run),
        ("substrate", "trace", run, "--out", f"{out}/trace.jsonl"),
        ("init", f"{out}/new"),
    ):
        document = told(project, *words)
        assert document["error"] is None, (words, document["error"])
        assert document["result"], words


def test_asking(project: Project) -> None:
    """What asks the API answers by the schema: a run, the noise of equal runs, one question."""
    assert told(project, "run", "--limit", "3")["result"]["questions"] == 3
    noise = told(project, "calibrate", "--runs", "2")["result"]["noise"]
    assert noise
    probed = told(project, "probe")
    assert (probed["exit_code"], probed["result"]["rank"]) == (0, 1)


def test_an_error_names_the_run_directory(project: Project) -> None:
    """An API that never gets ready: code, hint, and where the reason lies."""
    error = told(project, "check", FAKE_BEHAVIOUR="die_at_start")["error"]
    assert error["code"] == "cannot-tell"
    assert Path(error["run_directory"], "verdict.json").is_file()


def test_how_much_is_said(project: Project) -> None:
    """Verbosely every question has a line with its answer; quietly there is none, and the report stays."""
    loud = project.command("run", "--limit", "2", "-v")
    assert "raggate: hybrid anchovy-first: " in loud.err
    quiet = project.command("run", "--limit", "2", "-q")
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out.strip()


def test_colours_that_are_forced(project: Project) -> None:
    """FORCE_COLOR colours what is no terminal, and NO_COLOR takes it back."""
    compared = str(next(project.last_run().parent.glob("*/baseline.json")).parent)
    assert "\x1b[" in project.command("compare", compared, FORCE_COLOR="1").out
    assert "\x1b[" not in project.command("compare", compared, FORCE_COLOR="1", NO_COLOR="1").out


def test_the_same_from_python(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """`raggate.check` gives the verdict of the command line as an object, and prints nothing."""
    heard: list[str] = []
    verdict = raggate.check(project.config, say=heard.append, environment={"FAKE_BEHAVIOUR": "worse", "PATH": ""})
    by_command = told(project, "check", FAKE_BEHAVIOUR="worse")["result"]
    own = {"run_id", "run_directory"}
    assert isinstance(verdict, raggate.Verdict)
    assert not verdict.passed
    told_in_json = json.loads(json.dumps({key: value for key, value in as_dict(verdict).items() if key not in own}))
    assert _without_traces(told_in_json) == _without_traces({k: v for k, v in by_command.items() if k not in own})
    assert verdict.run_directory.is_dir()
    assert verdict.lost[0].question in str(verdict)
    assert capsys.readouterr() == ("", "")


def test_a_lost_question_has_its_trace(project: Project) -> None:
    """The id that a question was sent with stands beside it everywhere; two runs share none; it can be left out."""
    done = project.command("check", FAKE_BEHAVIOUR="worse")
    rows = [json.loads(line)["result"] for line in plain_rows(project.last_run()).read_text().splitlines()]
    ids = {row["trace_id"] for row in rows}
    assert len(ids) == len(rows) == 24
    flips = project.verdict()["flips"]
    assert {flip["trace_id"] for flip in flips} <= ids
    assert f"trace:    {flips[0]['trace_id']}" in done.out
    assert f"trace: `{flips[0]['trace_id']}`" in (project.last_run() / "summary.md").read_text()
    again = told(project, "compare", str(project.last_run()))["result"]
    assert {question["trace_id"] for question in again["lost"]} <= ids
    other = told(project, "check", FAKE_BEHAVIOUR="worse")["result"]
    assert not {question["trace_id"] for question in other["lost"]} & ids


def test_an_id_that_is_none(project: Project) -> None:
    """A stored id that is no trace id is refused: it would be shown."""
    rows = plain_rows(project.last_run())
    whole = rows.read_bytes()
    row = json.loads(whole.splitlines()[0])
    row["result"]["trace_id"] = "`](x)"
    rows.write_bytes(json.dumps(row).encode() + b"\n" + b"\n".join(whole.splitlines()[1:]))
    error = told(project, "score", str(rows.parent))["error"]
    rows.write_bytes(whole)
    assert "results.jsonl:1: trace_id: expected 32 hex digits" in error["message"]


def _without_traces(verdict: dict[str, Any]) -> dict[str, Any]:
    for question in verdict["lost"]:
        question.pop("trace_id")
    return verdict


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


def test_names_of_the_package() -> None:
    """Every public name is there, another one is an AttributeError."""
    for name in raggate.__all__:
        assert getattr(raggate, name)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = raggate.nothing_of_the_kind  # type: ignore[attr-defined]


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
    assert entry == {"raggate": "raggate.pytest_plugin"}
    # what an installation leaves, by which pytest itself finds the plugin
    metadata = project.root / "site" / "raggate_ci-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: raggate-ci\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text(f"[pytest11]\nraggate = {entry['raggate']}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"],
        cwd=project.root,
        env={"PATH": "", "PYTHONPATH": str(metadata.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "test_rag.py::test_retrieval PASSED" in done.stdout
    assert "test_rag.py::test_a_change FAILED" in done.stdout
    assert "regression: " in done.stdout
    assert "questions broke" in done.stdout.lower()
