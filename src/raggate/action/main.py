"""The container action: the runner's environment -> the command line -> outputs, state, step summary, exit code.

Beside `cli/main.py` the only place that reads the environment. It runs as the first process of its container.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from raggate.action import steps
from raggate.action.init_process import close_memory, supervised
from raggate.cli import main as cli
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.github.runner import commands, event, results, secrets, step_inputs
from raggate.github.step_context import Record, Runner
from raggate.text import disk

SOCKET = Path("/var/run/docker.sock")
"""Where the runner puts the engine's socket, whatever the host's name for it is."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# what each choice of `fail-on` lets pass as green; a usage error, a crash and a cancelled run are red in any case
_GREEN: Mapping[str, frozenset[int]] = {
    "regression": frozenset(),
    "cannot-tell": frozenset((ExitCode.REGRESSION, ExitCode.INVARIANT)),
    "never": frozenset((ExitCode.REGRESSION, ExitCode.INVARIANT, ExitCode.CANNOT_TELL)),
}


def main() -> NoReturn:
    """Run the step and exit with its code."""
    close_memory()
    if os.getpid() == 1:
        sys.exit(supervised(step, crashed=cli.say_crash))
    try:
        code = step()
    except Exception as error:  # noqa: BLE001 - Python's own code for it is that of a regression
        cli.say_crash(error)
        code = int(ExitCode.INTERNAL)
    sys.exit(code)


def step() -> int:
    """Gate, and tell the runner; returns the exit code of the step. Signals are let in only while it gates."""
    cli.prepare_process()
    try:
        runner = Runner.of(os.environ)
        # a killed step leaves the truth behind, and the post step knows that there may be something to sweep
        commands.set_values(runner.output, results.outputs(None, int(ExitCode.INTERRUPTED), runner.workspace))
        os.environ["STATE_STEP"] = step_label = os.urandom(16).hex()
        commands.set_values(runner.state, {"STARTED": f"{time.time():.0f}", "STEP": step_label})
    except UsageError as error:
        cli.say_error(error)
        return int(ExitCode.USAGE)
    except (OSError, ValueError) as error:
        steps.say(f"the runner's files for outputs and state cannot be written, nothing was started: {error}")
        return int(ExitCode.INTERNAL)
    record = Record()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        try:
            code = _run(runner, record)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    except KeyboardInterrupt:
        steps.say("interrupted")
        code = int(ExitCode.INTERRUPTED)
    return _report(runner, record, code)


def post() -> NoReturn:
    """Remove what a killed step left behind, give its files to the workspace's owner, and say so in the summary."""
    cli.prepare_process()
    code = int(ExitCode.PASS)
    for duty in (_sweep, _tell_of_a_killed_step, _close_the_check_run):
        try:
            duty(os.environ)
        except RaggateError as error:
            cli.say_error(error)
            code = int(error.exit_code)
        except OSError as error:
            steps.say(f"the post step could not do all it should: {error}")
            code = int(ExitCode.INTERNAL)
        except Exception as error:  # noqa: BLE001 - the next duty is done all the same
            cli.say_crash(error)
            code = int(ExitCode.INTERNAL)
    sys.exit(code)


def _run(runner: Runner, record: Record) -> int:
    os.chdir(runner.workspace)
    try:
        # before anything is said of the inputs, and also when the token is not a valid one
        for command in secrets.mask(step_inputs.tokens(os.environ)):
            print(command, flush=True)  # noqa: T201 - a log command
        inputs = step_inputs.read(os.environ)
        record.fail_on = inputs["fail-on"]
        steps.check_places(inputs, runner.workspace)
        opted_in = inputs["allow-pull-request-target"] == "true"
        happened = event.read(os.environ, allow_pull_request_target=opted_in)
        with steps.opened_github(inputs, happened) as github:
            if inputs["command"] == "comment":
                return steps.relay_comment(inputs, happened, github, runner, record)
            if inputs["command"] == "promote":
                from raggate.action.promote import promote_baseline

                return promote_baseline(inputs, happened, github, runner, record)
            return steps.gate(inputs, happened, github, runner, record)
    except RaggateError as error:
        cli.say_error(error, steps.fence)
        record.error = error
        return int(error.exit_code)
    except Exception as error:  # noqa: BLE001 - a bug must not look like a verdict
        refused = disk.unwritable(error) if isinstance(error, OSError) else None
        if refused is not None:
            cli.say_error(refused, steps.fence)
            record.error = refused
            return int(refused.exit_code)
        cli.say_crash(error)
        return int(ExitCode.INTERNAL)


def _report(runner: Runner, record: Record, code: int) -> int:
    """Tell the runner how it went; a step that cannot do so is never green."""
    waived = code in _GREEN[record.fail_on]
    try:
        _hand_over(runner, record, code, waived=waived)
    except Exception as error:  # noqa: BLE001 - a bug in a report must not leave the outputs of a pass behind
        if isinstance(error, (OSError, ValueError)):
            steps.say(f"the results could not be handed to the runner: {error}")
        else:
            cli.say_crash(error)
        code = code or int(ExitCode.INTERNAL)
        with contextlib.suppress(OSError, ValueError):
            told = {**record.outputs, "verdict": results.name_of(code), "exit-code": str(code)}
            commands.set_values(runner.output, {**results.outputs(record.directory, code, runner.workspace), **told})
        return code
    return 0 if waived else code


def _hand_over(runner: Runner, record: Record, code: int, *, waived: bool) -> None:
    try:
        results.give_back(record.directory, runner.workspace)
        commands.set_values(
            runner.output, {**results.outputs(record.directory, code, runner.workspace), **record.outputs}
        )
        if waived:
            verdict = results.name_of(code)
            text = f"{verdict} (exit {code}), but the step is green because of fail-on: {record.fail_on}"
            steps.warn("raggate did not pass", text)
            commands.append_summary(runner.summary, f"> [!CAUTION]\n> {text}.\n\n")
        commands.append_summary(
            runner.summary, _summary(record, code, room=commands.room(runner.summary), lenient=waived)
        )
    finally:
        # whatever went wrong, it was not killed
        commands.set_values(runner.state, {"FINISHED": "true"})


def _summary(record: Record, code: int, *, room: int, lenient: bool) -> str:
    if record.summary:
        return commands.bounded(record.summary, room)
    if record.surface is None or record.review is None or record.review.verdict.exit_code != code:
        return results.summary(record.directory, record.error, code)
    told = record.told(code)
    for line in record.surface.annotate(told, lenient=lenient):
        print(line)  # noqa: T201 - a log command
    return record.surface.summary(told, limit=room)


def _sweep(environment: Mapping[str, str]) -> None:
    if not SOCKET.exists() and not environment.get("DOCKER_HOST"):
        return
    from raggate.service.backends.engine import sweep

    for removed in sweep(environment):
        steps.say(f"removed {removed}, which was left behind")


def _tell_of_a_killed_step(environment: Mapping[str, str]) -> None:
    if not environment.get("STATE_STARTED") or environment.get("STATE_FINISHED"):
        return
    steps.say("the step was killed before it had ended")
    runner = Runner.of(environment)
    directory = environment.get("STATE_RUN_DIRECTORY")
    commands.append_summary(runner.summary, results.KILLED)
    results.give_back(Path(directory) if directory else None, runner.workspace)


def _close_the_check_run(environment: Mapping[str, str]) -> None:
    """Complete the check run of a step that could not do it itself, which would stay yellow for ever."""
    check = environment.get("STATE_CHECK_RUN", "")
    if not check.isdecimal():
        return
    from raggate.github.publish import Settings, Surface

    inputs = step_inputs.read(environment)
    happened = event.read(environment, allow_pull_request_target=True)
    with steps.opened_github(inputs, happened) as github:
        surface = Surface(happened, github, Settings(), steps.say)
        surface.check = int(check)
        cancelled = int(ExitCode.INTERRUPTED)
        surface.complete(Record().told(cancelled))


if __name__ == "__main__":
    main()
