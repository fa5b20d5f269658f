"""Events as the runner tells of them, on a fake GitHub or on none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.github_api import FakeGitHub
from raggate.github.rest.repository import Repository
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event, SourceRun
from raggate.github.step_context import Runner, Step, StepState

ENDED = "2026-01-01T01:00:00Z"


def make_event(name: str, fake: FakeGitHub | None = None, **fields: Any) -> Event:
    """Describe an event in the repository `octo/notes`; name only the fields that the test is about."""
    server = "https://github.com"
    known = {
        "repository": "octo/notes",
        "run_id": 10,
        "attempt": 1,
        "server_url": fake.server_url if fake else server,
        "api_url": fake.api_url if fake else f"{server}/api/v3",
        "graphql_url": fake.graphql_url if fake else f"{server}/api/graphql",
        "triggering_actor": "someone",
        "default_branch": "main",
        "head": "1" * 40,
        "head_ref": "main",
    }
    return Event(name=name, **{**known, **fields})


def make_pull_event(fake: FakeGitHub | None = None, *, name: str = "pull_request", **fields: Any) -> Event:
    """Describe a push to the open pull request 7, from the branch `change` into `main`."""
    known = {"number": 7, "base": "2" * 40, "base_ref": "main", "head_ref": "change", "open": True}
    return make_event(name, fake, **{**known, **fields})


def make_source_run(head: str, **changes: Any) -> SourceRun:
    """Describe the ended run 9 of a fork's pull request, an hour after the fake's clock began."""
    known = {"id": 9, "attempt": 1, "event": "pull_request", "head_branch": "change", "conclusion": "failure"}
    known |= {"head_repository": "stranger/notes", "run_started_at": ENDED, "path": ".github/workflows/rag-gate.yml"}
    return SourceRun(**{"head_sha": head, **known, **changes})


def make_step(root: Path, event: Event, inputs: dict[str, str], repository: Repository | None = None) -> Step:
    """Make a step of a job that has its workspace and its files in one directory."""
    files = {name: root / name for name in ("output", "state", "summary")}
    runner = Runner(workspace=root, environment={}, **files)
    return Step({**step_inputs.DEFAULTS, **inputs}, event, repository, runner, StepState())
