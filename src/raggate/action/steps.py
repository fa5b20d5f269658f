"""What a step can be asked to do: gate, or comment for a run that has ended. Inputs and event -> exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from raggate.cli import main
from raggate.cli.hooks import Caller
from raggate.config.first_run import FirstRun
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.github import bases
from raggate.github.runner import commands, event, results, step_inputs
from raggate.github.step_context import Record, Runner, prefix_of
from raggate.inputs import sources
from raggate.models.verdict import Review
from raggate.text.escape import log_line, plain

if TYPE_CHECKING:
    from raggate.github.rest.client import GitHub

WORKING_TREE = "working-tree"
"""The value of `against` that keeps the trusted inputs of an event from being looked for elsewhere."""

_OWN = frozenset(("push", "schedule", "workflow_dispatch", "repository_dispatch", "release"))
# what is checked out for these is the repository's own; for any other event it may be a change that nobody has read


def gate(
    inputs: Mapping[str, str], happened: event.Event, github: GitHub | None, runner: Runner, record: Record
) -> int:
    """Gate, and show on GitHub how it went. Returns the exit code of the verdict.

    Raises:
        UsageError: for inputs that cannot be used.
    """
    from raggate.github.publish import Settings, Surface

    arguments, by_event = _arguments(inputs, happened)
    caller = _caller(inputs, happened, github, runner, record, introducing=by_event)
    asked = Settings(
        comment=inputs["comment"],
        check_run=_check_name(inputs, happened),
        prefix=prefix_of(runner.workspace / inputs["config"], runner.workspace),
        secrets=(inputs["github-token"],),
        login=inputs["token-login"],
    )
    surface = record.surface = Surface(happened, github, asked, _unshown)
    if github is None and asked.comment != "never" and happened.comments:
        say("no comment: the input github-token is empty")
    check = surface.begin()
    if check is not None:
        commands.set_values(runner.state, {"CHECK_RUN": str(check)})
    try:
        # told like every other way to end, on the pull request too
        bases.check(happened.base_ref, happened.default_branch, inputs["bases"])
        code = main.run_command(arguments, caller)
    except UsageError as error:
        main.say_error(error)
        record.error = error
        code = int(error.exit_code)
    record.suite = record.suite or _suite(inputs, happened, github, runner, introducing=by_event)
    record.outputs = surface.finish(record.told(code))
    if check is not None and surface.check is None:
        commands.set_values(runner.state, {"CHECK_RUN": ""})
    return code


def relay_comment(
    inputs: Mapping[str, str], happened: event.Event, github: GitHub | None, runner: Runner, record: Record
) -> int:
    """Comment on the pull requests of the run that has ended. Green when that was done, whatever the verdict."""
    from raggate.github import fork_comment
    from raggate.interop.systems import SYSTEMS

    if github is None:
        raise UsageError("the input github-token is empty, and `command: comment` needs it")
    config = runner.workspace / inputs["config"]
    about = {name: inputs[name] for name in ("artifact", "bases", "workflow")}
    what = fork_comment.of(happened, config, runner.workspace, **about, systems=SYSTEMS)
    token, login = inputs["github-token"], inputs["token-login"]
    asked = fork_comment.settings_of(what, when=inputs["comment"], token=token, login=login)
    failed = False
    for done in fork_comment.comment(github, happened, what, asked, _unshown):
        verdict = results.name_of(done.told.code)
        record.outputs = {"verdict": verdict, "exit-code": str(done.told.code), "comment-url": done.url}
        record.summary += done.summary
        failed |= done.failed
        say(f"pull request {done.number}: {verdict}, {done.url or 'no comment'}")
    if not record.summary:
        record.outputs = {"verdict": "", "exit-code": ""}
        record.summary = f"{fork_comment.NOBODY}.\n"
        say(fork_comment.NOBODY)
    return int(ExitCode.CANNOT_TELL if failed else ExitCode.PASS)


def check_places(inputs: Mapping[str, str], workspace: Path) -> None:
    """Refuse files that the steps before and after this one do not share: elsewhere is the action's own container.

    Raises:
        UsageError: naming the input whose path leads out of the workspace.
    """
    for name in ("config", "baseline", "out"):
        if not (workspace / inputs[name]).resolve().is_relative_to(workspace.resolve()):
            raise UsageError(
                f"input {name!r}: {log_line(inputs[name])!r} lies outside the workspace",
                hint="Give a path relative to the workspace: what lies elsewhere belongs to the action's own "
                "container, whose paths are not those of the other steps.",
            )


def _arguments(inputs: Mapping[str, str], happened: event.Event) -> tuple[list[str], bool]:
    """Give the command line, and whether the event chose the commit that the trusted inputs come from."""
    base = happened.base
    if happened.privileged and inputs["against"] == WORKING_TREE:
        raise UsageError(
            f"against: {WORKING_TREE} is refused on pull_request_target: the change could edit the gate that judges "
            "it, beside a token that can write",
            hint="Leave `against` out: the base commit judges.",
        )
    by_event = not inputs["against"] and base is not None
    against = "" if inputs["against"] == WORKING_TREE else inputs["against"] or base or ""
    flags = ("config", "suite", "api-image", "api-build", "api-url", "against", "baseline", "out")
    given = {**inputs, "against": against}
    words = ["check", *(f"--{name}={given[name]}" for name in flags if given[name])]
    return [*words, "--store-full-text"] if inputs["store-full-text"] == "true" else words, by_event


def _caller(
    inputs: Mapping[str, str],
    happened: event.Event,
    github: GitHub | None,
    runner: Runner,
    record: Record,
    *,
    introducing: bool,
) -> Caller:
    def created(directory: Path) -> None:
        record.directory = directory
        announce(runner, directory)

    def configured(suite: str) -> None:
        # the change's own configuration, which is read for the preview, has no say
        record.suite = record.suite or suite

    def failed(error: RaggateError) -> None:
        record.error = error

    def judged(review: Review, directory: Path) -> None:
        record.review, record.directory = review, directory

    return Caller(
        created=created,
        configured=configured,
        failed=failed,
        judged=judged,
        remote=_remote(github, happened, runner, serving=introducing),
        introducing=introducing,
        first_run=FirstRun(allowed=step_inputs.allowed_settings(inputs), measured=not happened.privileged),
        action=True,
        contained=_contained(inputs, happened),
        fence=fence,
    )


def _suite(
    inputs: Mapping[str, str], happened: event.Event, github: GitHub | None, runner: Runner, *, introducing: bool
) -> str:
    """Name the suite of a configuration that could not be used, so that its one comment tells what is wrong."""
    from raggate.inputs import suite_names

    config = runner.workspace / inputs["config"]
    against = None if inputs["against"] == WORKING_TREE else inputs["against"] or happened.base
    remote = _remote(github, happened, runner, serving=introducing)
    found = suite_names.find(config.parent, config.name, against=against, remote=remote)
    return found or inputs["suite"] or inputs["config"]


def announce(runner: Runner, directory: Path) -> None:
    """Tell the post step and the steps that follow of the run directory, for the case that this step is killed."""
    commands.set_values(runner.state, {"RUN_DIRECTORY": str(directory)})
    commands.set_values(runner.output, {"run-directory": results.shown(directory, runner.workspace)})


def _check_name(inputs: Mapping[str, str], happened: event.Event) -> str:
    """Name the check run. What a branch says of itself is not what the branch it goes into says of it."""
    by_itself = happened.base is None and inputs["against"] in {"", WORKING_TREE}
    itself = happened.head_ref if by_itself else ""
    return bases.check_name(inputs["check-run"], happened.base_ref, happened.default_branch, itself=itself)


def _contained(inputs: Mapping[str, str], happened: event.Event) -> bool:
    """Say whether an API inside raggate's own container is refused: it is the code of a change nobody has read yet."""
    if inputs["allow-pull-request-target"] == "true" and happened.number is not None:
        return True
    return happened.name not in _OWN and inputs["allow-command"] != "true"


def _remote(github: GitHub | None, happened: event.Event, runner: Runner, *, serving: bool) -> sources.Remote:
    """Say where the job has its commits; with `serving`, those on the server too."""
    if github is None or not serving:
        return sources.Remote(workspace=runner.workspace)
    from raggate.github.rest.git_objects import Objects

    return sources.Remote(workspace=runner.workspace, objects=Objects(github, happened.repository))


@contextmanager
def opened_github(inputs: Mapping[str, str], happened: event.Event) -> Iterator[GitHub | None]:
    """Open the API of the server that the step runs for; None without a token."""
    if not inputs["github-token"]:
        yield None
        return
    from raggate.github.rest.client import GitHub

    with GitHub(
        api_url=happened.api_url,
        graphql_url=happened.graphql_url,
        token=inputs["github-token"],
        ca_file=Path(inputs["ca-file"]) if inputs["ca-file"] else None,
        say=say,
    ) as github:
        yield github


def fence() -> AbstractContextManager[None]:
    """Surround foreign lines on standard error, where the runner then sees no command."""
    return commands.stopped(lambda line: print(line, file=sys.stderr))  # noqa: T201 - a log command


def _unshown(text: str) -> None:
    warn("not shown", text)


def warn(title: str, text: str) -> None:
    """Print a warning that becomes an annotation of the step."""
    print(commands.annotation("warning", title, plain(text, limit=4096, middle=True)))  # noqa: T201 - a log command


def say(text: str) -> None:
    """Print a line to the log of the step."""
    print(f"raggate: {log_line(text)}", file=sys.stderr)  # noqa: T201 - the log of the step
