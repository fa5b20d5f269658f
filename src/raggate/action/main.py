"""The container action: the runner's environment -> a step -> outputs, state, step summary, exit code.

Beside `cli/main.py` the only place that reads the environment. It runs as the first process of its container.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from raggate.action import steps
from raggate.action.init_process import close_memory, supervised
from raggate.base.errors import ExitCode, RaggateError, UsageError
from raggate.frontends import console
from raggate.github.runner import commands, event, results, step_inputs
from raggate.github.step_context import Runner, Step, StepState

SOCKET = Path("/var/run/docker.sock")
"""Where the runner puts the engine's socket, whatever the host's name for it is."""

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "check": ("gate", "gate"),
    "shard": ("shards", "ask"),
    "merge": ("shards", "merge"),
    "comment": ("relay", "comment"),
    "promote": ("promote", "promote_baseline"),
    "respond": ("relay", "respond"),
}
"""The input `command` -> the module and the function that take the step."""
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
        sys.exit(supervised(step, crashed=_say_crash))
    try:
        code = step()
    except Exception as error:  # noqa: BLE001 - Python's own code for it is that of a regression
        _say_crash(error)
        code = int(ExitCode.INTERNAL)
    sys.exit(code)


def step() -> int:
    """Gate, and tell the runner; returns the exit code of the step. Signals are let in only while it gates."""
    console.prepare_process()
    try:
        runner = Runner.of(os.environ)
        # a killed step leaves the truth behind, and the post step knows that there may be something to sweep
        commands.set_values(runner.output, results.outputs(None, int(ExitCode.INTERRUPTED), runner.workspace))
        os.environ["STATE_STEP"] = step_label = os.urandom(16).hex()
        commands.set_values(runner.state, {"STARTED": f"{time.time():.0f}", "STEP": step_label})
    except UsageError as error:
        console.say_error(error)
        return int(ExitCode.USAGE)
    except (OSError, ValueError) as error:
        console.say(f"raggate cannot write the runner's files for outputs and state, so it started nothing: {error}")
        return int(ExitCode.INTERNAL)
    state = StepState()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        try:
            os.chdir(runner.workspace)
            code, failed = console.guarded(lambda: _perform(runner, state), runner.environment, steps.fence)
            state.error = failed or state.error
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    except KeyboardInterrupt:
        console.say("interrupted")
        code = int(ExitCode.INTERRUPTED)
    return _report(runner, state, code)


def post() -> NoReturn:
    """Remove what a killed step left behind, give its files to the workspace's owner, and say so in the summary."""
    console.prepare_process()
    code = int(ExitCode.PASS)
    for duty in (_sweep, _report_a_killed_step):
        try:
            duty(os.environ)
        except RaggateError as error:
            console.say_error(error)
            code = int(error.exit_code)
        except OSError as error:
            console.say(f"the post step could not finish: {error}")
            code = int(ExitCode.INTERNAL)
        except Exception as error:  # noqa: BLE001 - the next duty is done all the same
            _say_crash(error)
            code = int(ExitCode.INTERNAL)
    sys.exit(code)


def _perform(runner: Runner, state: StepState) -> int:
    # before anything is said of the inputs, and also when the token is not a valid one
    for command in commands.mask(step_inputs.secrets_as_written(runner.environment)):
        print(command, flush=True)  # noqa: T201 - a log command
    inputs = step_inputs.read(runner.environment)
    state.fail_on = inputs["fail-on"]
    steps.check_places(inputs, runner.workspace)
    started_by = event.read(runner.environment)
    steps.check_authorities(started_by.name, runner.workspace, runner.environment)
    with steps.opened_repository(inputs, started_by) as repository:
        given = Step(inputs, started_by, repository, runner, state)
        # what one command renders is not loaded for the others
        import_module("raggate.action.gate").listed(given)
        module, name = _COMMANDS[inputs["command"]]
        return int(getattr(import_module(f"raggate.action.{module}"), name)(given))


def _say_crash(error: BaseException) -> None:
    console.say_crash(error, os.environ)


def _report(runner: Runner, state: StepState, code: int) -> int:
    """Report the result to the runner; a step that cannot do so is never green."""
    waived = code in _GREEN[state.fail_on]
    try:
        _hand_over(runner, state, code, waived=waived)
    except Exception as error:  # noqa: BLE001 - a bug in a report must not leave the outputs of a pass behind
        if isinstance(error, (OSError, ValueError)):
            console.say(f"the results could not be handed to the runner: {error}")
        else:
            _say_crash(error)
        code = code or int(ExitCode.INTERNAL)
        with contextlib.suppress(OSError, ValueError):
            outputs = results.outputs(state.directory, code, runner.workspace) | state.outputs
            outputs |= {"verdict": results.name_of(code), "exit-code": str(code)}
            commands.set_values(runner.output, outputs)
        return code
    return 0 if waived else code


def _hand_over(runner: Runner, state: StepState, code: int, *, waived: bool) -> None:
    try:
        results.give_back(state.directory, runner.workspace)
        commands.set_values(runner.output, results.outputs(state.directory, code, runner.workspace) | state.outputs)
        if waived:
            verdict = results.name_of(code)
            text = f"{verdict} (exit {code}), but the step is green because of fail-on: {state.fail_on}"
            steps.warn("raggate did not pass", text)
            commands.append_summary(runner.summary, f"> [!CAUTION]\n> {text}.\n\n")
        commands.append_summary(
            runner.summary, _summary(state, code, room=commands.room(runner.summary), lenient=waived)
        )
    finally:
        # whatever went wrong, it was not killed
        commands.set_values(runner.state, {"FINISHED": "true"})


def _summary(state: StepState, code: int, *, room: int, lenient: bool) -> str:
    if state.summary:
        return state.summary
    if state.reporter is None or not state.reporter.tells(code):
        return results.summary(state.directory, state.error, code)
    for line in state.reporter.annotate(lenient=lenient):
        print(line)  # noqa: T201 - a log command
    return state.reporter.summary(limit=room)


def _sweep(environment: Mapping[str, str]) -> None:
    if not SOCKET.exists() and not environment.get("DOCKER_HOST"):
        return
    from raggate.service.backends.engine import sweep

    for removed in sweep(environment):
        console.say(f"removed {removed}, which was left behind")


def _report_a_killed_step(environment: Mapping[str, str]) -> None:
    if not environment.get("STATE_STARTED") or environment.get("STATE_FINISHED"):
        return
    console.say("the step was killed before it ended")
    runner = Runner.of(environment)
    directory = environment.get("STATE_RUN_DIRECTORY")
    commands.append_summary(runner.summary, results.KILLED)
    results.give_back(Path(directory) if directory else None, runner.workspace)


if __name__ == "__main__":
    main()
