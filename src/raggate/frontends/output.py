"""How much a command says, and to whom: `--json`, `--quiet`, and colours."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import asdict

from raggate.base.errors import ExitCode, FileProblems, Interrupted, RaggateError
from raggate.base.escape import plain
from raggate.models.answer import Answer

SCHEMA = "raggate/output/1"
"""Of what `--json` prints. Keys are added under the same name; it changes when one is taken away or means another."""

FLAG = "--json"
MESSAGE = 1500
"""Characters of a message, and of a hint."""


_current: Output | None = None


class _Bug(RaggateError):
    label = "internal error"


_UNTOLD: Mapping[int, RaggateError] = {
    ExitCode.INTERNAL: _Bug("a bug in raggate", hint="Standard error names the log. Please report it."),
    ExitCode.INTERRUPTED: Interrupted("interrupted"),
}
"""The message of an end without an error of its own."""


class Output(Struct):
    """How one command is to speak: as JSON or not, quietly or not, and which command it is."""

    json: bool = False
    quiet: bool = False
    command: str = ""


@contextmanager
def of_command() -> Iterator[Output]:
    """Begin a command, whose flags then say how it speaks; it is the only one of the process at a time."""
    global _current  # noqa: PLW0603 - messages come from any thread, and standard output is the process's too
    before, _current = _current, Output()
    try:
        yield _current
    finally:
        _current = before


def quiet() -> bool:
    """Return whether messages on the way are left out."""
    return _current is not None and _current.quiet


def as_json() -> bool:
    """Return whether one JSON document is all that is printed."""
    return _current is not None and _current.json


def coloured(environment: Mapping[str, str]) -> bool:
    """Return whether standard output takes colours: NO_COLOR says no, else FORCE_COLOR yes, else a terminal does."""
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or sys.stdout.isatty()


def add_flags(command: click.Command) -> None:
    """Add these flags to a command and its subcommands. A command with its own `--json` keeps that."""
    if not any(FLAG in parameter.opts for parameter in command.params):
        command.params.append(_flag([FLAG], _json, "Print one JSON document. Messages go to standard error."))
    command.params.append(_flag(["-q", "--quiet"], _quiet, "Print only results and errors."))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            add_flags(inner)


def _flag(names: list[str], heard: Callable[[Output, click.Context], None], meaning: str) -> click.Option:
    def callback(context: click.Context, _: click.Parameter, given: bool) -> None:  # noqa: FBT001 - as click calls it
        if _current is not None:
            _current.command = context.command_path.partition(" ")[2]
            if given:
                heard(_current, context)

    return click.Option(names, is_flag=True, is_eager=True, expose_value=False, callback=callback, help=meaning)


def _json(output: Output, context: click.Context) -> None:
    if not output.json:
        output.json = True
        # what is made for people is made all the same, and nobody reads it
        context.find_root().with_resource(redirect_stdout(io.StringIO()))


def _quiet(output: Output, _: click.Context) -> None:
    output.quiet = True


def wanted(output: Output, words: Sequence[str]) -> bool:
    """Return whether JSON is wanted, also where the flags could not be read."""
    options = words[: words.index("--")] if "--" in words else words
    return output.json or (not output.command and FLAG in options)


def document(command: str, code: int, error: RaggateError | None = None) -> dict[str, Any]:
    """Return what `--json` prints: `command` is without the program, `code` an `Answer` if there is a result."""
    if error is None and not isinstance(code, Answer) and code in _UNTOLD:
        error = _UNTOLD[code]
    return {
        "schema": SCHEMA,
        "command": command,
        "exit_code": int(code),
        "result": _plain(code.result) if isinstance(code, Answer) else None,
        "error": None if error is None else _error(error, code),
    }


def _error(error: RaggateError, code: int) -> dict[str, Any]:
    problems = error.problems if isinstance(error, FileProblems) else ()
    directory = getattr(error, "directory", None)
    return {
        "code": error.label.replace(" ", "-"),
        "message": plain(error.message, limit=MESSAGE, middle=True),
        "hint": plain(error.hint, limit=MESSAGE, middle=True),
        "exit_code": int(code),
        "check": error.check if isinstance(error, FileProblems) else None,
        "problems": [_plain(problem._asdict()) for problem in problems],
        "run_directory": None if directory is None else _plain(directory),
        "log": [plain(line) for line in error.log],
    }


def _plain(value: object) -> Any:
    """Return what JSON can hold: a path as text with `/`, a noun by its fields, half a character as `?`."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Path):
        return _plain(value.as_posix())
    if isinstance(value, Struct):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(part) for key, part in value.items()}
    if isinstance(value, Iterable):
        return [_plain(part) for part in value]
    return value
