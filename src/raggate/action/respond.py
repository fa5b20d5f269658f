"""The step that answers a command in a comment of a pull request."""

from __future__ import annotations

from collections.abc import Mapping

from raggate.action.relay import ended_run
from raggate.cli.console import say
from raggate.errors import UsageError
from raggate.github import commands
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState


def respond(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Do what the comment asks for. Green when it was answered, also where the answer is no.

    Raises:
        UsageError: without a token, and for another event than `issue_comment`.
        GitHubError: when GitHub refuses to be asked or told.
    """
    if repository is None:
        raise UsageError("the input github-token is empty, and `command: respond` needs it")
    gate = ended_run(inputs, event, runner)
    response = commands.respond(
        repository,
        gate,
        token=inputs["github-token"],
        login=inputs["token-login"],
    )
    state.outputs = {"verdict": "", "exit-code": "", "comment-url": response.url}
    state.summary = f"{response.message}.\n"
    say(response.message)
    return response.code
