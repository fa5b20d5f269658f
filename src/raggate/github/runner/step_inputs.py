"""The runner's INPUT_ variables -> the action's inputs, every one of them known and of a value it can have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.quote import nearest, quoted
from raggate.config import first_run
from raggate.github import workflow_files


class Input(Struct, frozen=True):
    """What an input may hold. One with a default may not be empty, and one with choices holds one of them.

    `lines` is whether it has an entry a line.
    """

    default: str = ""
    choices: tuple[str, ...] = ()
    lines: bool = False


_SWITCH = Input("false", choices=("true", "false"))

INPUTS: Mapping[str, Input] = {
    "command": Input("check", choices=("check", "shard", "merge", "comment", "promote", "respond")),
    "config": Input("raggate.yml", lines=True),
    "api-image": Input(),
    "api-build": Input(),
    "api-url": Input(),
    "base-image": Input(),
    "against": Input(),
    "out": Input(),
    "run": Input(),
    "shard": Input(),
    "parts": Input("parts"),
    "fail-on": Input("regression", choices=("regression", "cannot-tell", "never")),
    "reports": Input(lines=True),
    "github-token": Input(),
    "comment": Input("always", choices=("always", "on-change", "never")),
    "issue": Input("never", choices=("never", "on-regression")),
    "artifact": Input("raggate-run"),
    "workflow": Input(workflow_files.DEFAULT),
    "allow-command": _SWITCH,
    "allow-first-run": Input(),
    "bases": Input(),
    "reason": Input(),
    "run-id": Input(),
    "allow-regression": _SWITCH,
}
"""Every input of action.yml, by name."""

DEFAULTS: Mapping[str, str] = {name: spec.default for name, spec in INPUTS.items()}

_PREFIX = "INPUT_"
_HIDDEN = "github-token"


def read(environment: Mapping[str, str]) -> dict[str, str]:
    """Read every input, its default filled in and white space around it dropped.

    The runner writes `api-url` as INPUT_API-URL, other implementations as INPUT_API_URL: both are read.
    """
    values: dict[str, str] = {}
    for variable in sorted(environment):
        if not variable.startswith(_PREFIX):
            continue
        name = _name(variable)
        if name not in INPUTS:
            advice = f". Did you mean {close!r}?" if (close := nearest(name, INPUTS)) else ""
            raise UsageError(f"unknown input {quoted(name)}{advice}", hint=f"Known: {', '.join(INPUTS)}.")
        value = environment[variable].strip()
        if values.setdefault(name, value) != value:
            raise UsageError(
                f"input {name!r} is given twice, as {_value_text(name, values[name])} and as {_value_text(name, value)}"
            )
    for name, value in values.items():
        _check(name, INPUTS[name], value)
    workflow_files.check_name(values.get(workflow_files.INPUT, workflow_files.DEFAULT))
    return {**DEFAULTS, **values}


def entries(inputs: Mapping[str, str], name: str) -> list[str]:
    """Return the entries of an input that has one a line, without white space around them and without empty ones."""
    return [line.strip() for line in inputs[name].splitlines() if line.strip()]


def allowed_settings(inputs: Mapping[str, str]) -> frozenset[str]:
    """Return the settings that `allow-first-run` lists, between commas or blanks."""
    words = frozenset(re.split(r"[,\s]+", inputs[first_run.INPUT])) - {""}
    unknown = sorted(words - set(first_run.SETTINGS))
    if unknown:
        raise UsageError(
            f"input {first_run.INPUT!r}: expected any of {', '.join(first_run.SETTINGS)}, found {quoted(unknown[0])}"
        )
    return words


def secrets(inputs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that must stand in nothing that is shown."""
    return tuple(filter(None, [inputs[_HIDDEN]]))


def secrets_as_written(environment: Mapping[str, str]) -> list[str]:
    """Return every value of a secret input as it is written, valid or not, to be masked before anything is said."""
    return [
        value
        for variable, value in sorted(environment.items())
        if variable.startswith(_PREFIX) and _name(variable) == _HIDDEN and value.strip()
    ]


def _name(variable: str) -> str:
    return variable.removeprefix(_PREFIX).lower().replace("_", "-").replace(" ", "-")


def _value_text(name: str, value: str) -> str:
    return "a value that is not shown" if name == _HIDDEN else quoted(value)


def _check(name: str, spec: Input, value: str) -> None:
    if not value and spec.default:
        raise UsageError(f"input {name!r} is empty", hint=f"Leave it out for its default, {spec.default!r}.")
    lines = value.splitlines() if spec.lines else [value]
    if not all(line.isprintable() for line in lines):
        raise UsageError(f"input {name!r}: expected one line of printable text, found {_value_text(name, value)}")
    if spec.choices and value not in spec.choices:
        raise UsageError(f"input {name!r}: expected one of {', '.join(spec.choices)}, found {quoted(value)}")
