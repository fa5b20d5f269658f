"""A repository with a baseline, on disk and on a fake GitHub, and a workflow run that measured it."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from checkouts import git
from events import make_event
from fakes.github_api import FakeGitHub, Pull, Repository
from project import Project, make_project
from raggate.action.promote import promote_baseline
from raggate.github.rest.client import GitHub
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, Step, StepState
from raggate.inputs.trusted import Inputs, InputSource, load_trusted
from raggate.pipeline.trusted_inputs import check_names
from stored_rows import files_of

NAME = "octo/notes"
NOW = "2026-01-05T00:00:00+00:00"
DAY = "2026-01-04T00:00:00Z"
INPUTS = {**step_inputs.DEFAULTS, "command": "promote", "reason": "Chunks end at headings now."}
PERMISSIONS = {"contents": "write", "pull-requests": "write", "actions": "read"}


@dataclass(frozen=True)
class Measured:
    """A committed repository whose head was measured.

    Attributes:
        project: the repository on disk; its head has a baseline.
        commit: its head.
        files: every committed file.
        run: the files of the run directory of the healthy API at that head.
    """

    project: Project
    commit: str
    files: dict[str, bytes]
    run: dict[str, bytes]

    def on(self, fake: FakeGitHub) -> Repository:
        """Put the repository onto a fake, with the same commit."""
        repository = fake.add_repository(NAME)
        repository.add_commit(self.files, [repository.head], sha=self.commit, branch="main")
        return repository

    @contextmanager
    def inputs(self) -> Iterator[Inputs]:
        where = InputSource(root=self.project.root, config_name="raggate.yml", against=self.commit)
        with load_trusted(where, check_names) as found:
            yield found


def measure(root: Path, prepare: Callable[[Path], None] = lambda _: None) -> Measured:
    """Make the repository, promote a first baseline, commit, and measure the head; `prepare` adds files to it."""
    project = make_project(root, notes=2)
    prepare(root)
    assert project.command("run").code == 0
    done = project.command("promote", str(project.last_run()), "--reason", "the first")
    assert done.code == 0, done.err
    project.commit()
    commit = git(root, "rev-parse", "HEAD")
    assert project.command("run", "--against", commit).code == 0
    tracked = git(root, "ls-files", "-z").strip("\0").split("\0")
    last = project.last_run()
    return Measured(project, commit, {name: (root / name).read_bytes() for name in tracked}, files_of(last))


def packed(files: dict[str, bytes]) -> bytes:
    """Pack files as actions/upload-artifact does."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # the same bytes whenever it is packed
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, compresslevel=1)
    return stream.getvalue()


def edited(files: dict[str, bytes], edit: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    """Change what the config.json of a run directory says."""
    config = json.loads(files["config.json"])
    edit(config)
    return {**files, "config.json": json.dumps(config).encode()}


def worse(files: dict[str, bytes]) -> dict[str, bytes]:
    """Let a run have found nothing for one question."""
    lines = files["results.jsonl"].splitlines()
    row = json.loads(lines[0])
    row["result"]["response"]["chunks"] = []
    row["labels"] |= {name: [] for name, value in row["labels"].items() if isinstance(value, list)}
    return {**files, "results.jsonl": b"\n".join([json.dumps(row).encode(), *lines[1:]]) + b"\n"}


def dispatched(fake: FakeGitHub, commit: str) -> Event:
    """Describe a dispatch on main, which is at a commit."""
    return make_event("workflow_dispatch", fake, run_id=90, triggering_actor="octocat", head=commit)


def client(fake: FakeGitHub, permissions: dict[str, str] | None = None) -> GitHub:
    """Open the API as the workflow's token."""
    token = fake.token(permissions or PERMISSIONS)
    return fake.client(token)


@dataclass
class Stage:
    """A step of a workflow that somebody dispatched, with what it is given unless a test says otherwise."""

    fake: FakeGitHub
    repository: Repository
    measured: Measured
    files: Path
    inputs: Mapping[str, str] = field(default_factory=lambda: INPUTS)
    state: StepState = field(default_factory=StepState)

    @classmethod
    @contextmanager
    def on(cls, measured: Measured, files: Path) -> Iterator[Self]:
        """Put a repository onto a fake, of which at the end nothing was asked that GitHub does not know."""
        with FakeGitHub() as fake:
            yield cls(fake, measured.on(fake), measured, files)

    def step(self, *, event: dict[str, Any] | None = None, **inputs: str) -> int:
        self.state = StepState()
        given = {**self.inputs, **{name.replace("_", "-"): value for name, value in inputs.items()}}
        happened = replace(self.event, **(event or {}))
        with client(self.fake) as github:
            there = GitHubRepository(github, NAME)
            step = Step(given, happened, there, self.runner, self.state)
            return promote_baseline(step, now=lambda: datetime.fromisoformat(NOW))

    @property
    def runner(self) -> Runner:
        files = {name: self.files / name for name in ("output", "state", "summary")}
        return Runner(workspace=self.measured.project.root, environment=os.environ, **files)

    @property
    def event(self) -> Event:
        """Describe a dispatch on main."""
        return dispatched(self.fake, self.measured.commit)

    def ran(self, files: dict[str, bytes] | None = None) -> str:
        """Put a workflow run onto the fake, whose artifact is the measured run or other files, and give its number."""
        run = self.repository.add_run(event="push", created_at=DAY, run_started_at=DAY, head_sha=self.measured.commit)
        self.repository.add_artifact(run, "raggate-run", packed(self.measured.run if files is None else files))
        return str(run)

    def pull(self) -> Pull:
        (pull,) = self.repository.pulls.values()
        return pull

    def unwritten(self) -> bool:
        return all(request.method == "GET" for request in self.fake.requests)
