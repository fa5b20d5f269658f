"""The recipes of docs/shards.md: their scripts are run as they stand there, by stand-ins for the engines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from project import Project, make_project

PAGE = (Path(__file__).parents[2] / "docs" / "shards.md").read_text(encoding="utf-8")
# with fewer shards than on the page, as each costs a process; a stand-in does what the engine documents
SHARDS = 3
IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
STAND_INS = {
    "raggate": f'exec {sys.executable} -m raggate "$@"',
    "buildkite-agent": "exit 0",  # artifacts are there already: it is one directory
    "sbatch": """
[ "$1" = --wait ] || exit 64
first=0 last=$(sed -n 's/.*--array=0-\\([0-9]*\\).*/\\1/p' "$2")
for task in $(seq "$first" "$last"); do
    SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_MIN=$first SLURM_ARRAY_TASK_MAX=$last SLURM_ARRAY_TASK_STEP=1 \\
        SLURM_ARRAY_TASK_COUNT=$((last + 1)) bash "$2" || exit 1
done""",
}
RAY = """
class Task:
    def __init__(self, function):
        self.remote = function
def remote(**options):
    assert options["retry_exceptions"]
    return Task
def init():
    pass
def get(results):
    return results
"""


@pytest.fixture
def change(tmp_path: Path) -> Project:
    """Return a checkout of a change whose target branch, with a baseline, is on a server, beside a tag of its name."""
    project = make_project(tmp_path / "work")
    project.promote()
    project.commit()
    for words in (
        ["clone", "-q", "--bare", "work", "server.git"],
        ["-C", "work", "remote", "add", "origin", "../server.git"],
        ["-C", "work", "rm", "-q", "--cached", "raggate.yml"],
        ["-C", "work", *IDENTITY, "commit", "-q", "-m", "without a suite"],
        ["-C", "work", "push", "-q", "origin", "HEAD:refs/tags/main"],
        ["-C", "work", "reset", "-q", "HEAD~1"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in STAND_INS.items():
        (tools / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (tools / name).chmod(0o755)
    return project


def block(engine: str, number: int = 0) -> str:
    """Return a code block of the section on an engine, for fewer shards."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (text,) = (part for part in section if part.startswith(f"{engine}\n"))
    code = re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[number]
    fewer = {"--shards 8": f"--shards {SHARDS}", "0-7": f"0-{SHARDS - 1}", "SHARDS = 8": f"SHARDS = {SHARDS}"}
    for written, here in {
        **fewer,
        "parallelism: 8": f"parallelism: {SHARDS}",
        "parallel: 8": f"parallel: {SHARDS}",
    }.items():
        code = code.replace(written, here)
    assert len(code.splitlines()) <= 30
    return code


def run(change: Project, words: list[str], **variables: str) -> int:
    environment = {**os.environ, "FAKE_BEHAVIOUR": "ok", **variables}
    environment["PATH"] = f"{change.root.parent / 'bin'}:{environment['PATH']}"
    done = subprocess.run(words, cwd=change.root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr)  # noqa: T201
    return done.returncode


def script(change: Project, commands: list[str], **variables: str) -> int:
    """Run commands one after the other, which ends with the first that fails."""
    codes = (run(change, ["bash", "-c", command], **variables) for command in commands)
    return next((code for code in codes if code), 0)


def shards(change: Project) -> set[str]:
    return {path.name for path in (change.root / "parts").iterdir()}


WHOLE = {f"shard-{number}-of-{SHARDS}" for number in range(1, SHARDS + 1)}


@pytest.mark.parametrize(("behaviour", "code"), [("ok", 0), ("worse", 1)])
def test_slurm(change: Project, behaviour: str, code: int) -> None:
    """The array asks every shard by its variables, and the gate ends with the verdict."""
    (change.root / "shards.sh").write_text(block("Slurm"))
    (change.root / "gate.sh").write_text(block("Slurm", 1))
    assert run(change, ["bash", "gate.sh"], FAKE_BEHAVIOUR=behaviour) == code
    assert shards(change) == WHOLE


def test_slurm_again(change: Project) -> None:
    """One task of the array as a job of its own is refused without the shard's name, and asks that shard with it."""
    (change.root / "shards.sh").write_text(block("Slurm"))
    alone = {"ID": "1", "MIN": "1", "MAX": "1", "STEP": "1", "COUNT": "1"}
    variables = {f"SLURM_ARRAY_TASK_{name}": value for name, value in alone.items()}
    assert run(change, ["bash", "shards.sh"], **variables) == 2
    assert run(change, ["bash", "shards.sh", "--shard", f"2/{SHARDS}"], **variables) == 0
    assert shards(change) == {f"shard-2-of-{SHARDS}"}


def test_buildkite(change: Project) -> None:
    """The steps base, ask and gate; a step that is retried leaves another attempt, and the report is written."""
    steps: list[Mapping[str, Any]] = yaml.safe_load(block("Buildkite"))["steps"]
    # uploading the pipeline makes one dollar of two
    base, ask, gate = ([command.replace("$$", "$") for command in step["commands"]] for step in steps)
    branch = {"BUILDKITE_PULL_REQUEST_BASE_BRANCH": "main"}
    (change.root / "base").symlink_to("other")
    assert script(change, base, **branch) == 0
    # a link would be what the other jobs get, and lead to what the change has committed there
    assert not (change.root / "base").is_symlink()
    count = {**branch, "BUILDKITE_PARALLEL_JOB_COUNT": str(steps[1]["parallelism"])}
    dying = {**count, "BUILDKITE_PARALLEL_JOB": "0", "FAKE_BEHAVIOUR": "die_at_start"}
    assert script(change, ask, **dying, BUILDKITE_RETRY_COUNT="0") == 3
    for number in range(SHARDS):
        retry = {"BUILDKITE_RETRY_COUNT": "1" if number == 0 else "0"}
        assert script(change, ask, **count, **retry, BUILDKITE_PARALLEL_JOB=str(number)) == 0
    assert script(change, gate, **branch) == 0
    assert shards(change) == WHOLE | {f"shard-1-of-{SHARDS}-attempt-2"}
    assert all((change.root / name).is_file() for step in (steps[0], steps[2]) for name in step["artifact_paths"])


def test_gitlab(change: Project) -> None:
    """The jobs base, ask and gate, each with what the one before left as artifacts."""
    pipeline: Mapping[str, Any] = yaml.safe_load(block("GitLab"))
    fetch = [pipeline["default"]["before_script"][1]]  # before it raggate is installed
    branch = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    (change.root / "base").symlink_to("other")
    assert script(change, fetch + pipeline["rag-base"]["script"], **branch) == 0
    # a link would be what the other jobs get, and lead to what the change has committed there
    assert not (change.root / "base").is_symlink()
    total = pipeline["rag-shard"]["parallel"]
    for number in range(1, total + 1):
        variables = {**branch, "CI_NODE_INDEX": str(number), "CI_NODE_TOTAL": str(total)}
        assert script(change, fetch + pipeline["rag-shard"]["script"], **variables) == 0
    assert script(change, fetch + pipeline["rag-gate"]["script"], **branch) == 0
    assert shards(change) == WHOLE
    assert (change.root / pipeline["rag-gate"]["artifacts"]["reports"]["junit"]).is_file()
    assert [pipeline[name]["stage"] for name in ("rag-base", "rag-shard", "rag-gate")] == pipeline["stages"]


def test_ray(change: Project) -> None:
    """The script asks every shard in a task, and ends with the verdict."""
    (change.root.parent / "ray.py").write_text(RAY)
    (change.root.parent / "gate.py").write_text(block("Ray"))
    assert run(change, [sys.executable, "../gate.py"]) == 0
    assert shards(change) == WHOLE
