"""The section `faults` of raggate.yml: what a declared fault is, and what is refused."""

from __future__ import annotations

import pytest

from raggate.base.errors import UsageError
from raggate.config import schema
from raggate.config.gate_settings import Fault
from tables import each_row

MINIMAL = "vault: {notes: vault}\napi: {url: 'http://127.0.0.1:9000'}\n"


def load(section: str) -> dict[str, Fault]:
    return schema.load(f"{MINIMAL}{section}\n".encode(), "raggate.yml").faults


def test_a_fault_is_variables_or_a_patch() -> None:
    """Each has a name, and one way to be made; none is declared by default."""
    assert load("faults: {a: {X: '1'}, b: ./faults/b.patch}") == {"a": {"X": "1"}, "b": "faults/b.patch"}
    assert load("") == {}


@each_row(
    ("section", "message"),
    [
        ("faults: {a: {}}", "faults.a: expected variables of the API, such as `{SEARCH: 'off'}`, or the path of a"),
        ("faults: {a: [b]}", "faults.a: expected variables of the API"),
        ("faults: {a: {X: 1}}", "faults.a: expected text for X: put 1 in quotes"),
        ("faults: {a: ../a.patch}", "faults.a: expected a relative path inside the repository"),
        ("faults: {a: /a.patch}", "faults.a: expected a relative path inside the repository"),
        ("faults: {../a: {X: '1'}}", "faults"),
        ("faults: {a: {'X=Y': '1'}}", "faults.a"),
    ],
)
def test_mistakes_are_named(section: str, message: str) -> None:
    """A fault that is made in no way or in two, or leads out of the project, is refused."""
    with pytest.raises(UsageError) as caught:
        load(section)
    assert message in caught.value.message
    assert "raggate.yml:" in caught.value.message
