"""A run of the workflow with the matrix, job by job as its own file says, with the action's steps in this process.

The expressions of the file are evaluated and its scripts run; `docker` is a stand-in. Each job has a workspace of its
own and gets the artifacts that it asks for by name, which can be left once, as by version 4 of the artifact actions.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from e2e import grammar
from fakes.github_api import FakeGitHub
from here import called
from raggate.action import main

FILE = Path(__file__).parents[1] / ".github" / "workflows" / "rag-gate-sharded.yml"
WORKFLOW: dict[Any, Any] = yaml.load(FILE.read_text(), yaml.CSafeLoader)
CALL: dict[str, Any] = WORKFLOW[True]["workflow_call"]
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
ACTION: dict[str, Any] = yaml.load((FILE.parents[2] / "action.yml").read_text(), yaml.CSafeLoader)

IMAGE = f"sha256:{'a' * 64}"
DOCKER = f"""#!/bin/sh
case "$1" in
  build) [ "$3" = raggate-api:change ] && [ ! -e broken ] ;;
  save) echo packed > "$3" ;;
  image) echo {IMAGE} ;;
  load) grep -q packed "$3" ;;
  *) exit 1 ;;
esac
"""
_TOKEN = re.compile(r"'(?:[^']|'')*'|&&|\|\||[!=]=|[!(),]|[A-Za-z_][\w.-]*")
_WORDS = {"&&": " and ", "||": " or ", "!": " not ", "==": "==", "!=": "!="}

Files = dict[str, bytes]


@dataclass
class Leg:
    """A job, or one of a matrix: how it ended, its outputs, and the results of its steps."""

    result: str = "success"
    outputs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)
    log: str = ""


@dataclass
class MatrixRun:
    """A workflow run.

    Attributes:
        fake: GitHub.
        root: the checkout of the change, of which each job gets a copy.
        scratch: where jobs work.
        event: the payload of the event.
        head: the commit of the change.
        inputs: those of the call that are not at their default.
        lost: shards whose job ends before it asks.
        artifacts: what jobs have left, name -> path -> content.
        legs: the jobs of the newest attempt, by name and shard; None for a job without a matrix.
        before: called with the job's name before each job, which can then harm what lies about.
    """

    fake: FakeGitHub
    root: Path
    scratch: Path
    event: Mapping[str, Any]
    head: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    artifacts: dict[str, Files] = field(default_factory=dict)
    legs: dict[tuple[str, int | None], Leg] = field(default_factory=dict)
    before: Callable[[str], None] = lambda name: None
    attempt: int = 0

    def run(self) -> Leg:
        """Run all jobs, as a push does and "Re-run all jobs"; give the last one."""
        self.legs.clear()
        return self.run_failed()

    def run_failed(self) -> Leg:
        """Run the jobs that have not succeeded, and what needs them, as "Re-run failed jobs"; give the last one."""
        self.attempt += 1
        again: set[str] = set()
        for name, job in JOBS.items():
            needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            self.before(name)
            for shard in self._shards(job, needs):
                known = self.legs.get((name, shard))
                if known is not None and known.result == "success" and not again & {*needs}:
                    continue
                again.add(name)
                self.legs[name, shard] = self._leg(name, job, needs, shard)
        return self.legs[[*JOBS][-1], None]

    def result(self, name: str) -> str:
        """Return how a job ended, all of its legs together."""
        results = {leg.result for (job, _), leg in self.legs.items() if job == name}
        return next((word for word in ("failure", "cancelled", "success") if word in results), "skipped")

    def parts(self) -> list[str]:
        """Name the artifacts with shards, without the name of the pass."""
        names = (re.fullmatch(r"raggate-shard-[0-9a-f-]{36}-(.*)", name) for name in self.artifacts)
        return sorted(match[1] for match in names if match)

    def part(self, ending: str) -> Files:
        """Return an artifact with a shard by how its name ends."""
        return next(files for name, files in self.artifacts.items() if name.endswith(ending))

    def place(self, name: str, shard: int | None) -> Path:
        """Return the workspace of a job of this attempt."""
        return self.scratch / f"{self.attempt}-{name}-{shard or 0}"

    def _shards(self, job: dict[str, Any], needs: list[str]) -> list[int | None]:
        matrix = job.get("strategy", {}).get("matrix", {})
        if not matrix or any(self.result(name) != "success" for name in needs):
            return [None]
        known = {name: {"outputs": self._outputs(name)} for name in needs}
        shards: list[int | None] = Contexts(self, "", known, Leg(), None).value(matrix["shard"])
        return shards

    def _leg(self, name: str, job: dict[str, Any], needs: list[str], shard: int | None) -> Leg:
        wanted = job.get("if", "${{ success() }}")
        leg = Leg()
        known = {key: {"result": self.result(key), "outputs": self._outputs(key)} for key in needs}
        contexts = Contexts(self, name, known, leg, shard)
        leg.result = "success" if all(item["result"] == "success" for item in known.values()) else "failure"
        if not contexts.value(wanted):
            return Leg(result="skipped")
        leg.result = "success"
        workspace = self.place(name, shard)
        for step in job["steps"]:
            self._step(step, job, contexts, leg, workspace)
        leg.outputs = {key: contexts.text(value) for key, value in job.get("outputs", {}).items()}
        return leg

    def _outputs(self, name: str) -> dict[str, str]:
        return next((leg.outputs for (job, _), leg in self.legs.items() if job == name), {})

    def _step(self, step: dict[str, Any], job: dict[str, Any], contexts: Contexts, leg: Leg, workspace: Path) -> None:
        asked = step.get("if", "${{ success() }}")
        if not re.search(r"\b(always|cancelled|success|failure)\(", asked):
            asked = asked.replace("${{", "${{ success() &&", 1)
        if not contexts.value(asked):
            return
        inputs = {key: contexts.text(value) for key, value in step.get("with", {}).items()}
        code, outputs = self._done(step, job, inputs, contexts, leg, workspace)
        if code and not step.get("continue-on-error"):
            leg.result = "failure"
        if "id" in step:
            leg.steps[step["id"]] = {"outputs": outputs}

    def _done(
        self,
        step: dict[str, Any],
        job: dict[str, Any],
        inputs: dict[str, str],
        contexts: Contexts,
        leg: Leg,
        workspace: Path,
    ) -> tuple[int, dict[str, str]]:
        action = step.get("uses", "").partition("@")[0]
        if action == "actions/checkout":
            self._checkout(inputs, workspace)
        elif action == "actions/upload-artifact":
            return self._upload(inputs, workspace), {}
        elif action == "actions/download-artifact":
            return self._download(inputs, workspace), {}
        elif action == "./.raggate-action":
            return self._raggate(inputs, job, contexts, leg, workspace)
        else:
            assert not action, action
            return self._script(step, contexts, workspace)
        return 0, {}

    def _checkout(self, inputs: Mapping[str, str], workspace: Path) -> None:
        if "path" in inputs:
            assert (inputs["repository"], inputs["ref"]) == ("someone/raggate", "f" * 40)
            (workspace / inputs["path"]).mkdir()
        else:
            shutil.copytree(self.root, workspace, symlinks=True)

    def _upload(self, inputs: Mapping[str, str], workspace: Path) -> int:
        path = workspace / inputs["path"]
        files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
        hidden = inputs.get("include-hidden-files") == "True"
        top = path if path.is_dir() else path.parent
        shown = [item for item in files if hidden or not any(part.startswith(".") for part in item.parts[1:])]
        taken = inputs["name"] in self.artifacts and inputs.get("overwrite") != "True"
        if taken or not shown or not path.exists():
            return 1
        self.artifacts[inputs["name"]] = {str(item.relative_to(top)): item.read_bytes() for item in shown}
        return 0

    def _download(self, inputs: Mapping[str, str], workspace: Path) -> int:
        top = workspace / inputs["path"]
        if "name" in inputs:
            if inputs["name"] not in self.artifacts:
                return 1
            _unpack(self.artifacts[inputs["name"]], top)
            return 0
        for name in fnmatch.filter(self.artifacts, inputs["pattern"]):
            _unpack(self.artifacts[name], top / name)
        return 0

    def _script(self, step: dict[str, Any], contexts: Contexts, workspace: Path) -> tuple[int, dict[str, str]]:
        workspace.mkdir(exist_ok=True)
        programs = self.scratch / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "docker").write_text(DOCKER)
        (programs / "docker").chmod(0o755)
        output = workspace.with_suffix(".script")
        output.write_text("")
        runner = workspace.with_suffix(".temp")
        runner.mkdir(exist_ok=True)
        given = {key: contexts.text(value) for key, value in step.get("env", {}).items()}
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "GITHUB_OUTPUT": str(output),
            "RUNNER_TEMP": str(runner),
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(words, cwd=workspace, env={**environment, **given}, check=False, capture_output=True)
        return done.returncode, grammar.values(output.read_text())

    def _raggate(
        self, inputs: dict[str, str], job: dict[str, Any], contexts: Contexts, leg: Leg, workspace: Path
    ) -> tuple[int, dict[str, str]]:
        assert {*inputs} <= {*ACTION["inputs"]}
        if contexts.shard in self.lost:
            return 1, {}
        files = {name: workspace.with_suffix(f".{name}") for name in ("OUTPUT", "STATE", "STEP_SUMMARY")}
        happened = workspace.with_suffix(".event")
        happened.write_text(json.dumps(self.event))
        environment = {
            "PATH": os.environ["PATH"],
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(happened),
            "GITHUB_REPOSITORY": self.event["repository"]["full_name"],
            "GITHUB_RUN_ID": "70",
            "GITHUB_RUN_ATTEMPT": str(self.attempt),
            "GITHUB_SERVER_URL": self.fake.server_url,
            "GITHUB_API_URL": self.fake.api_url,
            "GITHUB_GRAPHQL_URL": self.fake.graphql_url,
            "GITHUB_SHA": self.head,
            "GITHUB_REF": "refs/pull/7/merge",
            **{f"GITHUB_{name}": str(file) for name, file in files.items()},
            **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
            "INPUT_GITHUB-TOKEN": self.fake.token(job["permissions"]),
        }
        done = called(main.step, at=workspace, environment=environment, alone=True)
        leg.log += done.out + done.err
        return done.code, grammar.values(files["OUTPUT"].read_text())


@dataclass
class Contexts:
    """What the expressions of a job can name."""

    run: MatrixRun
    name: str
    needs: Mapping[str, Any]
    leg: Leg
    shard: int | None

    def text(self, written: object) -> str:
        """Fill in the expressions of a text, as the runner writes each value."""
        return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(self._value(match[1])), str(written))

    def value(self, written: str) -> Any:
        return self._value(written.strip().removeprefix("${{").removesuffix("}}"))

    def _value(self, expression: str) -> Any:
        words = [*self._python(_TOKEN.findall(expression))]
        assert re.sub(r"\s", "", expression) == re.sub(r"\s", "", "".join(_TOKEN.findall(expression)))
        return eval("".join(words), {"look": self._look, "call": self._call})  # noqa: S307 - words of the file above

    def _python(self, tokens: list[str]) -> Iterator[str]:
        for word, following in zip(tokens, [*tokens[1:], ""], strict=True):
            if word in _WORDS or word in "(),":
                yield _WORDS.get(word, word)
            elif word.startswith("'"):
                yield repr(word[1:-1])
            else:
                yield f"call({word!r})" if following == "(" else f"look({word!r})"

    def _call(self, name: str) -> Callable[..., Any]:
        return {
            "always": lambda: True,
            "cancelled": lambda: False,
            "success": lambda: self.leg.result == "success",
            "fromJSON": json.loads,
            "endsWith": lambda text, ending: text.endswith(ending),
        }[name]

    def _look(self, path: str) -> Any:
        known: Any = {
            "inputs": {name: spec["default"] for name, spec in CALL["inputs"].items()} | dict(self.run.inputs),
            "needs": self.needs,
            "steps": self.leg.steps,
            "matrix": {"shard": self.shard},
            "github": {"run_attempt": self.run.attempt, "server_url": "https://github.com"},
            "job": {"workflow_repository": "someone/raggate", "workflow_sha": "f" * 40},
            "runner": {"temp": str(self.run.place(self.name, self.shard).with_suffix(".temp"))},
        }
        for part in path.split("."):
            # what is not there is nothing
            known = known.get(part, "") if isinstance(known, Mapping) else ""
        return known


def _unpack(files: Files, top: Path) -> None:
    for name, content in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(content)
