"""The step that comments for a run that has ended: inputs and event -> comment, outputs."""

from __future__ import annotations

from collections.abc import Mapping

from raggate.action import steps
from raggate.action.gate import ended, listed
from raggate.base.errors import ExitCode, UsageError
from raggate.base.jsonio import dumps
from raggate.frontends import console
from raggate.frontends.console import say
from raggate.github import commands, fork_comment
from raggate.github.fork_comment import ForkRun
from raggate.github.publish import Settings
from raggate.github.rest.repository import Repository
from raggate.github.runner import step_inputs
from raggate.github.runner.commands import SUMMARY_BYTES
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState


def ended_run(inputs: Mapping[str, str], event: Event, runner: Runner) -> ForkRun:
    """Return which run has ended, and what judges it."""
    return ForkRun(
        event=event,
        config_file=runner.workspace / inputs["config"],
        configs=step_inputs.entries(inputs, "config") if listed(inputs) else (),
        overrides=steps.overrides_of(inputs),
        workspace=runner.workspace,
        artifact=inputs["artifact"],
        bases=inputs["bases"],
        workflow=inputs["workflow"],
        say=say,
    )


def comment(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Comment on the pull requests of the run that has ended. Green when that was done, whatever the verdict."""
    if repository is None:
        raise UsageError("the input github-token is empty, and `command: comment` needs it")
    fork = ended_run(inputs, event, runner)
    settings = Settings(comment=inputs["comment"], secrets=step_inputs.secrets(inputs))
    failed = False
    for shown in fork_comment.comment(
        repository,
        fork,
        settings,
        lambda suite, work: console.of_suite(suite, work, runner.environment, steps.fence),
        steps.warn_not_shown,
    ):
        state.outputs = {"verdict": shown.verdict, "exit-code": str(shown.code), "comment-url": shown.url}
        if fork.configs:
            state.outputs["suites"] = dumps([ended(outcome) for outcome in shown.outcomes if outcome.suite]).decode()
        state.summary += shown.summary(limit=SUMMARY_BYTES)
        failed |= shown.failed
        say(f"pull request {shown.event.number}: {shown.verdict}, {shown.url or 'no comment'}")
    if not state.summary:
        state.outputs = {"verdict": "", "exit-code": ""}
        state.summary = f"{fork_comment.NOBODY}.\n"
        say(fork_comment.NOBODY)
    return int(ExitCode.CANNOT_TELL if failed else ExitCode.PASS)


def respond(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Do what the comment asks for. Green when it was answered, also where the answer is no."""
    if repository is None:
        raise UsageError("the input github-token is empty, and `command: respond` needs it")
    gate = ended_run(inputs, event, runner)
    response = commands.respond(repository, gate, token=inputs["github-token"])
    state.outputs = {"verdict": "", "exit-code": "", "comment-url": response.url}
    state.summary = f"{response.message}.\n"
    say(response.message)
    return response.code
