"""The action's inputs: both spellings, defaults, and a named error for everything else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from raggate.base.errors import UsageError
from raggate.github.runner import step_inputs
from tables import each_row

ROOT = Path(__file__).parents[4]
ACTION: dict[str, Any] = yaml.load((ROOT / "action.yml").read_text(), yaml.CSafeLoader)


def test_action_yml_declares_what_is_read() -> None:
    """action.yml and the reader know the same inputs with the same defaults, in letters every runner keeps."""
    declared = {name: spec["default"] for name, spec in ACTION["inputs"].items()}
    # what the runner fills in stands nowhere in the code
    assert declared == {**step_inputs.DEFAULTS, "github-token": "${{ github.token }}"}
    assert all(re.fullmatch("[a-z0-9-]+", name) for name in (*ACTION["inputs"], *ACTION["outputs"]))
    assert all(isinstance(spec["default"], str) for spec in ACTION["inputs"].values())


@each_row("variable", ["INPUT_API-URL", "INPUT_API_URL"])
def test_both_spellings_are_read(variable: str) -> None:
    """A dash may arrive as a dash or as an underscore; what is not given has its default."""
    found = step_inputs.read({variable: " http://api:9000 ", "PATH": "/bin"})
    assert found == {**step_inputs.DEFAULTS, "api-url": "http://api:9000"}


@each_row(
    ("environment", "message"),
    [
        ({"INPUT_API_IMAG": "x"}, "unknown input 'api-imag'. Did you mean 'api-image'?"),
        ({"INPUT_GITHUB-TOKENS": "x"}, "unknown input 'github-tokens'"),
        ({"INPUT_API-URL": "http://a", "INPUT_API_URL": "http://b"}, "input 'api-url' is given twice"),
        ({"INPUT_CONFIG": " "}, "input 'config' is empty"),
        ({"INPUT_FAIL-ON": ""}, "input 'fail-on' is empty"),
        ({"INPUT_FAIL-ON": "sometimes"}, "expected one of regression, cannot-tell, never, found 'sometimes'"),
        ({"INPUT_ALLOW-COMMAND": "yes"}, "expected one of true, false, found 'yes'"),
        ({"INPUT_REASON": "a\n::error::b"}, "input 'reason': expected one line of printable text"),
        ({"INPUT_OUT": "a\x1b[31m"}, "input 'out': expected one line of printable text"),
    ],
)
def test_wrong_inputs_are_named(environment: dict[str, str], message: str) -> None:
    """An unknown, contradictory, empty or impossible input is a usage error that names it."""
    with pytest.raises(UsageError) as caught:
        step_inputs.read(environment)
    assert message in caught.value.message


@each_row(
    "environment",
    [
        {"INPUT_GITHUB-TOKEN": "ghs_one", "INPUT_GITHUB_TOKEN": "ghs_two"},
        {"INPUT_GITHUB-TOKEN": "ghs_one\nghs_two"},
    ],
)
def test_no_secret_is_ever_shown(environment: dict[str, str]) -> None:
    """An error about a token does not show it, and every value of it can be masked before that."""
    with pytest.raises(UsageError) as caught:
        step_inputs.read(environment)
    name = next(iter(environment)).removeprefix("INPUT_").lower()
    assert repr(name) in caught.value.message
    assert "ghs_" not in caught.value.message + caught.value.hint
    assert step_inputs.secrets_as_written({"PATH": "/bin", "INPUT_OUT": "x", **environment}) == list(
        environment.values()
    )
