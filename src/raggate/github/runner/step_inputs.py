"""The runner's INPUT_ variables -> the action's inputs, every one of them known and of a value it can have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raggate.config import first_run
from raggate.errors import UsageError
from raggate.github import workflow_files
from raggate.text.quote import nearest, quoted

DEFAULTS: Mapping[str, str] = {
    "command": "check",
    "config": "raggate.yml",
    "suite": "",
    "api-image": "",
    "api-build": "",
    "api-url": "",
    "base-image": "",
    "against": "",
    "baseline": "",
    "out": "",
    "run": "",
    "shards": "",
    "shard": "",
    "plan": "plan.json",
    "plan-hash": "",
    "parts": "parts",
    "jobs": "",
    "github-token": "",
    "token-login": "",
    "comment": "always",
    "check-run": "",
    "artifact": "raggate-run",
    "workflow": workflow_files.DEFAULT,
    "allow-pull-request-target": "false",
    "allow-command": "false",
    "allow-first-run": "",
    "bases": "",
    "reason": "",
    "run-id": "",
    "allow-regression": "false",
    "allow-no-match": "",
    "dry-run": "false",
    "direct-commit": "false",
    "max-age-days": "14",
    "ca-file": "",
    "fail-on": "regression",
    "store-full-text": "false",
    "reports": "",
    "issue": "never",
}
"""Name -> default, as in action.yml. An input whose default is empty may be left empty."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "command": ("check", "plan", "shard", "merge", "comment", "promote", "respond"),
    "fail-on": ("regression", "cannot-tell", "never"),
    "store-full-text": ("true", "false"),
    "comment": ("always", "on-change", "never"),
    "issue": ("never", "on-regression"),
    "allow-pull-request-target": ("true", "false"),
    **dict.fromkeys(("allow-command", "allow-regression", "dry-run", "direct-commit"), ("true", "false")),
}

LISTS = frozenset(("config", "reports"))
"""Inputs with an entry a line."""

_PREFIX = "INPUT_"
_SECRETS = ("github-token",)


def read(environment: Mapping[str, str]) -> dict[str, str]:
    """Read every input, its default filled in and white space around it dropped.

    The runner writes `api-url` as INPUT_API-URL, other implementations as INPUT_API_URL: both are read.

    Raises:
        UsageError: for an unknown input, one that is given twice with different values, an empty one that needs a
            value, or a value it cannot have; naming the input.
    """
    values: dict[str, str] = {}
    for variable in sorted(environment):
        if not variable.startswith(_PREFIX):
            continue
        name = _name(variable)
        if name not in DEFAULTS:
            raise _unknown(name)
        value = environment[variable].strip()
        if values.setdefault(name, value) != value:
            raise UsageError(
                f"input {name!r} is given twice, as {_value_text(name, values[name])} and as {_value_text(name, value)}"
            )
    for name, value in values.items():
        _check(name, value)
    workflow_files.check_name(values.get(workflow_files.INPUT, workflow_files.DEFAULT))
    return {**DEFAULTS, **values}


def entries(inputs: Mapping[str, str], name: str) -> list[str]:
    """Return the entries of an input of `LISTS`, without white space around them and without empty ones."""
    return [line.strip() for line in inputs[name].splitlines() if line.strip()]


def allowed_settings(inputs: Mapping[str, str]) -> frozenset[str]:
    """Return the settings that `allow-first-run` lists, between commas or blanks.

    Raises:
        UsageError: for a word that is none of `first_run.SETTINGS`.
    """
    words = frozenset(re.split(r"[,\s]+", inputs[first_run.INPUT])) - {""}
    unknown = sorted(words - set(first_run.SETTINGS))
    if unknown:
        raise UsageError(
            f"input {first_run.INPUT!r}: expected any of {', '.join(first_run.SETTINGS)}; found {quoted(unknown[0])}"
        )
    return words


def secrets(inputs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that must stand in nothing that is shown."""
    return tuple(inputs[name] for name in _SECRETS if inputs[name])


def secrets_as_written(environment: Mapping[str, str]) -> list[str]:
    """Return every value of a secret input as it is written, valid or not, to be masked before anything is said."""
    return [
        value
        for variable, value in sorted(environment.items())
        if variable.startswith(_PREFIX) and _name(variable) in _SECRETS and value.strip()
    ]


def _name(variable: str) -> str:
    return variable.removeprefix(_PREFIX).lower().replace("_", "-").replace(" ", "-")


def _value_text(name: str, value: str) -> str:
    return "a value that is not shown" if name in _SECRETS else quoted(value)


def _check(name: str, value: str) -> None:
    if not value and DEFAULTS[name]:
        raise UsageError(f"input {name!r} is empty", hint=f"Leave it out for its default, {DEFAULTS[name]!r}.")
    lines = value.splitlines() if name in LISTS else [value]
    if not all(line.isprintable() for line in lines):
        raise UsageError(f"input {name!r}: expected one line of printable text; found {_value_text(name, value)}")
    if name in CHOICES and value not in CHOICES[name]:
        raise UsageError(f"input {name!r}: expected one of {', '.join(CHOICES[name])}; found {quoted(value)}")


def _unknown(name: str) -> UsageError:
    close = nearest(name, DEFAULTS)
    advice = f"; did you mean {close!r}?" if close else ""
    return UsageError(f"unknown input {quoted(name)}{advice}", hint=f"Known: {', '.join(DEFAULTS)}.")
