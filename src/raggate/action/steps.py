"""What the steps have in common: inputs and event -> request, repository, names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from raggate.base import certificates
from raggate.base.errors import UsageError
from raggate.base.escape import plain
from raggate.base.quote import quoted
from raggate.frontends.console import say
from raggate.github.runner import commands, results, step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, Step, StepState, remote_of

if TYPE_CHECKING:
    from raggate.config.overrides import Overrides
    from raggate.github.rest.repository import Repository
    from raggate.inputs import sources
    from raggate.pipeline.request import Request

WORKING_TREE = "working-tree"
"""The value of `against` that keeps the trusted inputs of an event from being looked for elsewhere."""

OWN_EVENTS = frozenset(("push", "schedule", "workflow_dispatch", "repository_dispatch", "release"))
"""What is checked out for these is the repository's own. For any other event it may be an unread change."""
_BRANCH_EVENTS = frozenset(("push", "schedule", "workflow_dispatch"))


def check_places(inputs: Mapping[str, str], workspace: Path) -> None:
    """Refuse files that the steps before and after this one do not share: elsewhere is the action's own container."""
    check_inside("config", step_inputs.entries(inputs, "config"), workspace)
    for name in ("out", "run", "parts"):
        check_inside(name, [inputs[name]], workspace)


def check_inside(name: str, files: Iterable[str | Path], workspace: Path) -> None:
    """Refuse files of an input that lie outside the workspace; see `check_places`."""
    for file in files:
        # not `resolve`, which takes a link to itself for an error
        if not Path(os.path.realpath(workspace / file)).is_relative_to(workspace.resolve()):
            raise UsageError(
                f"input {name!r}: {quoted(file)} lies outside the workspace",
                hint="Give a path relative to the workspace. The action's own container has other "
                "paths than the other steps.",
            )


def check_authorities(event: str, workspace: Path, environment: Mapping[str, str]) -> None:
    """Refuse certificates in the workspace if a change may be checked out there.

    The change could say who may answer in place of the server that the token is sent to.
    """
    if event in OWN_EVENTS:
        return
    top = workspace.resolve()
    for name in (certificates.FILE, certificates.DIRECTORY):
        # OpenSSL takes several directories, as PATH does
        for file in filter(None, environment.get(name, "").split(os.pathsep)):
            there = workspace / file
            if any(Path(path(there)).is_relative_to(top) for path in (os.path.normpath, os.path.realpath)):
                raise UsageError(
                    f"{name}: {quoted(file)} lies in the workspace, where a change could replace the certificates "
                    "that are trusted",
                    hint="Let an earlier step write the file to `$RUNNER_TEMP/_github_home`, and name it as "
                    "`/github/home/FILE`. docs/other-ci.md shows it.",
                )


def request(step: Step) -> Request:
    """Return the request of a step that gates. Without `against` the event chooses the commit that judges."""
    inputs, event = step.inputs, step.event
    by_event = not inputs["against"] and event.base is not None
    asked = request_of(
        step,
        against=None if inputs["against"] == WORKING_TREE else inputs["against"] or event.base,
        remote=remote_of(step.runner.workspace, step.repository if by_event else None),
    )
    # an API inside raggate's own container is the code of a change that nobody has read yet
    contained = event.name not in OWN_EVENTS and inputs["allow-command"] != "true"
    return replace(
        asked,
        head=event.head,
        first_run=step_inputs.allowed_settings(inputs) if by_event else None,
        # whoever has a fork could have a server of their own answer, or somebody else's account pay
        overrides=replace(asked.overrides, contained=contained, replayed=event.from_fork),
    )


def request_of(step: Step, *, against: str | None, remote: sources.Remote) -> Request:
    """Return what the inputs ask of the pipeline, whatever the step does with it."""
    from raggate.pipeline.request import Request, Voice

    return Request(
        config_file=Path(step.inputs["config"]),
        environment=dict(step.runner.environment),
        voice=Voice(say=say, created=lambda directory: _announce(directory, step.runner, step.state)),
        overrides=overrides_of(step.inputs),
        against=against,
        out=step.path("out"),
        remote=remote,
    )


def overrides_of(inputs: Mapping[str, str]) -> Overrides:
    """Return what the inputs replace of the configuration."""
    from raggate.config.overrides import Overrides

    names = ("api-image", "api-build", "api-url", "base-image")
    instead: dict[str, Any] = {name.replace("-", "_"): inputs[name] or None for name in names}
    return replace(Overrides(), **instead)


def _announce(directory: Path, runner: Runner, state: StepState) -> None:
    """Pass the run directory to the post step and later steps, in case this step is killed."""
    state.directory = directory
    commands.set_values(runner.state, {"RUN_DIRECTORY": str(directory)})
    commands.set_values(runner.output, {"run-directory": results.path_from_workspace(directory, runner.workspace)})


def tells_issue(inputs: Mapping[str, str], event: Event) -> bool:
    """Return whether an issue reports this run: only for merged code, on the default branch and by its own files."""
    if inputs["issue"] != "on-regression" or inputs["against"] not in {"", WORKING_TREE}:
        return False
    # GitHub starts schedules on the default branch alone, and does not name it there
    is_default = event.name == "schedule" or event.head_ref == event.default_branch != ""
    return event.name in _BRANCH_EVENTS and is_default


@contextmanager
def opened_repository(inputs: Mapping[str, str], event: Event) -> Iterator[Repository | None]:
    """Open the repository that the step runs for; None without a token."""
    if not inputs["github-token"]:
        yield None
        return
    from raggate.github.rest.client import GitHub
    from raggate.github.rest.repository import Repository

    with GitHub(
        api_url=event.api_url,
        graphql_url=event.graphql_url,
        token=inputs["github-token"],
        say=say,
    ) as github:
        yield Repository(github, event.repository)


def fence() -> AbstractContextManager[None]:
    """Surround foreign lines on standard error, where the runner then sees no command."""
    return commands.stopped(lambda line: print(line, file=sys.stderr))  # noqa: T201 - a log command


def warn_not_shown(text: str) -> None:
    """Warn of what could not be shown."""
    warn("not shown", text)


def warn(title: str, text: str) -> None:
    """Print a warning that becomes an annotation of the step."""
    print(commands.annotation("warning", title, plain(text, limit=4096, middle=True)))  # noqa: T201 - a log command
