"""The step that comments for a run that has ended: inputs and event -> comment, outputs."""

from __future__ import annotations

from raggate.action import steps
from raggate.action.gate import ended, listed
from raggate.base.errors import ExitCode
from raggate.base.jsonio import dumps
from raggate.frontends import console
from raggate.frontends.console import say
from raggate.github import commands, fork_comment
from raggate.github.fork_comment import ForkRun
from raggate.github.publish import Settings
from raggate.github.runner import step_inputs
from raggate.github.runner.commands import SUMMARY_BYTES
from raggate.github.step_context import Step


def _ended_run(step: Step) -> ForkRun:
    """Return which run has ended, and what judges it."""
    inputs, workspace = step.inputs, step.runner.workspace
    return ForkRun(
        event=step.event,
        config_file=workspace / inputs["config"],
        configs=step.configs if listed(step) else (),
        overrides=steps.overrides_of(inputs),
        workspace=workspace,
        artifact=inputs["artifact"],
        bases=inputs["bases"],
        workflow=inputs["workflow"],
        say=say,
    )


def comment(step: Step) -> int:
    """Comment on the pull requests of the run that has ended. Green when that was done, whatever the verdict."""
    state, repository, fork = step.state, step.needed_repository(), _ended_run(step)
    settings = Settings(comment=step.inputs["comment"], secrets=step_inputs.secrets(step.inputs))
    failed = False
    for shown in fork_comment.comment(
        repository,
        fork,
        settings,
        lambda suite, work: console.of_suite(suite, work, step.runner.environment, steps.fence),
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


def respond(step: Step) -> int:
    """Do what the comment asks for. Green when it was answered, also where the answer is no."""
    state, repository = step.state, step.needed_repository()
    response = commands.respond(repository, _ended_run(step), token=step.inputs["github-token"])
    state.outputs = {"verdict": "", "exit-code": "", "comment-url": response.url}
    state.summary = f"{response.message}.\n"
    say(response.message)
    return response.code
