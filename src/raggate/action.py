"""The container action: the runner's environment -> the command line -> outputs, state, step summary, exit code.

Beside `cli.py` the only place that reads the environment. It runs as the first process of its container.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Self

from raggate import cli
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.escape import log_line
from raggate.github import commands, results, step_inputs
from raggate.reaper import supervised

SOCKET = Path("/var/run/docker.sock")
"""Where the runner puts the engine's socket, whatever the host's name for it is."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# what each choice of `fail-on` lets pass as green; a usage error, a crash and a cancelled run are red in any case
_GREEN: Mapping[str, frozenset[int]] = {
    "regression": frozenset(),
    "cannot-tell": frozenset((ExitCode.REGRESSION, ExitCode.INVARIANT)),
    "never": frozenset((ExitCode.REGRESSION, ExitCode.INVARIANT, ExitCode.CANNOT_TELL)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What the runner hands to a step: the workspace, and its files for outputs, state and summary."""

    workspace: Path
    output: Path
    state: Path
    summary: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read the runner's variables.

        Raises:
            UsageError: for one that is not set, or a workspace that is no directory.
        """
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
        found = cls(**{key: Path(environment[name]) for key, name in names.items()})
        if not found.workspace.is_dir():
            raise UsageError(f"GITHUB_WORKSPACE: {log_line(str(found.workspace))!r} is not a directory")
        return found


@dataclass(slots=True, kw_only=True)
class Record:
    """What is known so far: the run directory, the error that ended the run, and how red the step may get."""

    directory: Path | None = None
    error: RaggateError | None = None
    fail_on: str = "regression"


def main() -> NoReturn:
    """Run the step and exit with its code."""
    sys.exit(supervised(step) if os.getpid() == 1 else step())


def step() -> int:
    """Gate, and tell the runner; returns the exit code of the step. Signals are let in only while it gates."""
    cli.prepare_process()
    try:
        runner = Runner.of(os.environ)
        # a killed step leaves the truth behind, and the post step knows that there may be something to sweep
        commands.set_values(runner.output, results.outputs(None, int(ExitCode.INTERRUPTED), runner.workspace))
        commands.set_values(runner.state, {"STARTED": f"{time.time():.0f}"})
    except UsageError as error:
        cli.say_error(error)
        return int(ExitCode.USAGE)
    record = Record()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        try:
            code = _gate(runner, record)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    except KeyboardInterrupt:
        _say("interrupted")
        code = int(ExitCode.INTERRUPTED)
    return _report(runner, record, code)


def post() -> NoReturn:
    """Remove what a killed step left behind, give its files to the workspace's owner, and say so in the summary."""
    cli.prepare_process()
    code = int(ExitCode.PASS)
    for duty in (_sweep, _tell_of_a_killed_step):
        try:
            duty(os.environ)
        except RaggateError as error:
            cli.say_error(error)
            code = int(error.exit_code)
        except OSError as error:
            _say(f"the post step could not do all it should: {error}")
            code = int(ExitCode.INTERNAL)
    sys.exit(code)


def _gate(runner: Runner, record: Record) -> int:
    os.chdir(runner.workspace)
    try:
        inputs = step_inputs.read(os.environ)
        record.fail_on = inputs["fail-on"]
        arguments = _arguments(inputs, runner.workspace)
    except UsageError as error:
        cli.say_error(error)
        record.error = error
        return int(error.exit_code)

    def created(directory: Path) -> None:
        record.directory = directory
        commands.set_values(runner.state, {"RUN_DIRECTORY": str(directory)})

    def failed(error: RaggateError) -> None:
        record.error = error

    return cli.run_command(arguments, cli.Caller(created=created, failed=failed))


def _arguments(inputs: Mapping[str, str], workspace: Path) -> list[str]:
    config = workspace / inputs["config"]
    if not config.resolve().is_relative_to(workspace.resolve()):
        raise UsageError(f"input 'config': {log_line(inputs['config'])!r} lies outside the workspace")
    flags = ("config", "suite", "api-image", "api-build", "api-url", "against", "baseline", "out")
    words = ["check", *(f"--{name}={inputs[name]}" for name in flags if inputs[name])]
    return [*words, "--store-full-text"] if inputs["store-full-text"] == "true" else words


def _report(runner: Runner, record: Record, code: int) -> int:
    """Tell the runner how it went; a step that cannot do so is never green."""
    try:
        results.give_back(record.directory, runner.workspace)
        commands.set_values(runner.output, results.outputs(record.directory, code, runner.workspace))
        waived = code in _GREEN[record.fail_on]
        if waived:
            verdict = results.name_of(code)
            text = f"{verdict} (exit {code}), but the step is green because of fail-on: {record.fail_on}"
            print(commands.annotation("warning", "raggate did not pass", text))  # noqa: T201 - a log command
            commands.append_summary(runner.summary, f"> [!CAUTION]\n> {text}.\n\n")
        commands.append_summary(runner.summary, results.summary(record.directory, record.error, code))
        commands.set_values(runner.state, {"FINISHED": "true"})
    except (OSError, ValueError) as error:
        _say(f"the results could not be handed to the runner: {error}")
        return code or int(ExitCode.INTERNAL)
    return 0 if waived else code


def _sweep(environment: Mapping[str, str]) -> None:
    if not SOCKET.exists() and not environment.get("DOCKER_HOST"):
        return
    from raggate.backends.engine import sweep

    for removed in sweep(environment):
        _say(f"removed {removed}, which was left behind")


def _tell_of_a_killed_step(environment: Mapping[str, str]) -> None:
    if not environment.get("STATE_STARTED") or environment.get("STATE_FINISHED"):
        return
    _say("the step was killed before it had ended")
    runner = Runner.of(environment)
    directory = environment.get("STATE_RUN_DIRECTORY")
    commands.append_summary(runner.summary, results.KILLED)
    results.give_back(Path(directory) if directory else None, runner.workspace)


def _say(text: str) -> None:
    print(f"raggate: {log_line(text)}", file=sys.stderr)  # noqa: T201 - the log of the step


if __name__ == "__main__":
    main()
