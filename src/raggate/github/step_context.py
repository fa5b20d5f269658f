"""The runner's side of a step: its files and workspace, its commits, and what is known of the step so far."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec import Struct, field

from raggate.base.errors import RaggateError, UsageError
from raggate.base.quote import quoted
from raggate.base.redact import Guarded
from raggate.github.runner import step_inputs
from raggate.inputs import git, sources

if TYPE_CHECKING:
    from raggate.github.publish import StepReporter
    from raggate.github.rest.repository import Repository
    from raggate.github.runner.event import Event


class Runner(Guarded, Struct, frozen=True, kw_only=True):
    """What the runner hands to a step: the workspace, its files for outputs, state and summary, and the environment."""

    workspace: Path
    output: Path
    state: Path
    summary: Path
    environment: Mapping[str, str]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read the runner's variables."""
        names = {
            "workspace": "GITHUB_WORKSPACE",
            "output": "GITHUB_OUTPUT",
            "state": "GITHUB_STATE",
            "summary": "GITHUB_STEP_SUMMARY",
        }
        missing = [name for name in names.values() if not environment.get(name)]
        if missing:
            raise UsageError(
                f"{', '.join(missing)}: not set, so this is not a step of a workflow",
                hint="Outside GitHub Actions use `raggate check`.",
            )
        paths = {key: Path(environment[name]) for key, name in names.items()}
        if not paths["workspace"].is_dir():
            raise UsageError(f"GITHUB_WORKSPACE: {quoted(paths['workspace'])} is not a directory")
        return cls(**paths, environment=environment)


def prefix_of(config: Path, workspace: Path) -> str:
    """Return the directory of a file relative to the top of its checkout: nothing, or a path that ends in `/`."""
    folder = Path(os.path.normpath(workspace / config)).parent
    return sources.prefix_of(folder, git.find(folder, workspace), workspace)


def shown_prefix(config: Path, workspace: Path) -> str:
    """Return the same for links of a report; empty if a link leads there, for which the suite is refused anyway."""
    try:
        return prefix_of(config, workspace)
    except UsageError:
        return ""


def remote_of(workspace: Path, repository: Repository | None) -> sources.Remote:
    """Return where a job has its commits: in the checkouts of its workspace and, where it is given, on GitHub."""
    if repository is None:
        return sources.Remote(workspace=workspace)
    from raggate.github.rest.git_objects import Objects

    return sources.Remote(workspace=workspace, objects=Objects(repository))


class StepState(Struct, kw_only=True):
    """What is known of a step so far: how red it may get, further outputs, and what shows it on GitHub."""

    directory: Path | None = None
    error: RaggateError | None = None
    fail_on: str = "regression"
    outputs: dict[str, str] = field(default_factory=dict)
    reporter: StepReporter | None = None
    summary: str = ""


class Step(Guarded, Struct, frozen=True):
    """What a step is given, and its state. There is a repository if there is a token."""

    inputs: Mapping[str, str]
    event: Event
    repository: Repository | None
    runner: Runner
    state: StepState

    @property
    def configs(self) -> list[str]:
        """The entries of the input `config`."""
        return step_inputs.entries(self.inputs, "config")

    def needed_repository(self) -> Repository:
        """Return the repository, without which the step can do nothing."""
        if self.repository is None:
            command = self.inputs["command"]
            raise UsageError(f"the input github-token is empty, and `command: {command}` needs it")
        return self.repository

    def path(self, name: str) -> Path | None:
        """Return the path that an input names; None if it is empty."""
        return Path(self.inputs[name]) if self.inputs[name] else None
