"""The step that comments for a run that has ended, of one suite or of a list: inputs and event -> comment, outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from raggate.action import steps, suites
from raggate.cli import console
from raggate.cli.console import say
from raggate.errors import ExitCode, UsageError
from raggate.github import fork_comment, fork_suites
from raggate.github.fork_comment import ForkRun
from raggate.github.publish import Settings
from raggate.github.rest.repository import Repository
from raggate.github.runner import results, step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState
from raggate.text.jsonio import dumps


class _Told(Struct, frozen=True, kw_only=True):
    """What became of one pull request: its verdict, where it was told, and what the step hands on."""

    number: int
    verdict: str
    code: int
    url: str
    failed: bool
    summary: str
    outputs: Mapping[str, str]


def ended_run(inputs: Mapping[str, str], event: Event, runner: Runner) -> ForkRun:
    """Say which run has ended, and what judges it."""
    return ForkRun(
        event=event,
        config_file=runner.workspace / inputs["config"],
        workspace=runner.workspace,
        artifact=inputs["artifact"],
        bases=inputs["bases"],
        workflow=inputs["workflow"],
    )


def comment(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Comment on the pull requests of the run that has ended. Green when that was done, whatever the verdict.

    Raises:
        UsageError: without a token, and as `fork_comment.find`.
        GitHubError: when GitHub cannot be asked which pull requests these are.
    """
    if repository is None:
        raise UsageError("the input github-token is empty, and `command: comment` needs it")
    run = ended_run(inputs, event, runner)
    relayed = (
        _suites(inputs, run, repository, runner.environment)
        if suites.listed(inputs)
        else _suite(inputs, run, repository)
    )
    failed = False
    for pull in relayed:
        state.outputs = {
            "verdict": pull.verdict,
            "exit-code": str(pull.code),
            "comment-url": pull.url,
            **pull.outputs,
        }
        state.summary += pull.summary
        failed |= pull.failed
        say(f"pull request {pull.number}: {pull.verdict}, {pull.url or 'no comment'}")
    if not state.summary:
        state.outputs = {"verdict": "", "exit-code": ""}
        state.summary = f"{fork_comment.NOBODY}.\n"
        say(fork_comment.NOBODY)
    return int(ExitCode.CANNOT_TELL if failed else ExitCode.PASS)


def _suite(inputs: Mapping[str, str], run: ForkRun, repository: Repository) -> Iterator[_Told]:
    """Comment on one suite."""
    shown = {"when": inputs["comment"], "token": inputs["github-token"], "login": inputs["token-login"]}
    for result in fork_comment.comment(repository, run, steps.warn_not_shown, **shown):
        yield _Told(
            number=result.number,
            verdict=results.name_of(result.outcome.code),
            code=result.outcome.code,
            url=result.url,
            failed=result.failed,
            summary=result.summary,
            outputs={},
        )


def _suites(
    inputs: Mapping[str, str], run: ForkRun, repository: Repository, environment: Mapping[str, str]
) -> Iterator[_Told]:
    """Comment once on all suites of a list."""
    fork = fork_suites.ForkSuites(
        run=run,
        configs=step_inputs.entries(inputs, "config"),
        overrides=steps.overrides_of(inputs),
        say=say,
        warn=steps.warn_not_shown,
        alone=lambda suite, work: console.of_suite(suite, work, environment, steps.fence),
    )
    shown = Settings(comment=inputs["comment"], secrets=step_inputs.secrets(inputs), login=inputs["token-login"])
    for result in fork_suites.comment(repository, fork, shown):
        yield _Told(
            number=result.number,
            verdict=result.verdict,
            code=result.code,
            url=result.url,
            failed=result.failed,
            summary=result.summary,
            outputs={"suites": dumps([suites.ended(outcome) for outcome in result.outcomes]).decode()},
        )
