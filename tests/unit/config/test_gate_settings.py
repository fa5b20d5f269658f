"""The section `faults` of raggate.yml: what a declared fault is, and what is refused."""

from __future__ import annotations

import pytest

from raggate.base.errors import UsageError
from raggate.config import schema
from raggate.config.gate_settings import DeclaredFault
from tables import each_row

MINIMAL = "vault: {notes: vault}\napi: {url: 'http://127.0.0.1:9000'}\n"


def load(section: str) -> dict[str, DeclaredFault]:
    return schema.load(f"{MINIMAL}{section}\n".encode(), "raggate.yml").faults


def test_a_fault_is_variables_or_a_patch() -> None:
    """Each has a name, and one way to be made; none is declared by default."""
    faults = load("faults: {a: {env: {X: '1'}}, b: {patch: faults/b.patch}}")
    assert {name: (fault.env, fault.patch) for name, fault in faults.items()} == {
        "a": ({"X": "1"}, None),
        "b": ({}, "faults/b.patch"),
    }
    assert load("") == {}


@each_row(
    ("section", "message"),
    [
        ("faults: {a: {}}", "expected exactly one of 'env' and 'patch'"),
        ("faults: {a: {env: {X: '1'}, patch: a.patch}}", "expected exactly one of 'env' and 'patch'"),
        ("faults: {a: {env: {}}}", "expected exactly one of 'env' and 'patch'"),
        ("faults: {a: {patch: ../a.patch}}", "expected a relative path inside the repository"),
        ("faults: {a: {patch: /a.patch}}", "expected a relative path inside the repository"),
        ("faults: {../a: {env: {X: '1'}}}", "faults"),
        ("faults: {a: {env: {'X=Y': '1'}}}", "faults.a.env"),
        ("faults: {a: {path: b}}", "unknown key 'faults.a.path'. Did you mean 'patch'?"),
    ],
)
def test_mistakes_are_named(section: str, message: str) -> None:
    """A fault that is made in no way or in two, or leads out of the project, is refused."""
    with pytest.raises(UsageError) as caught:
        load(section)
    assert message in caught.value.message
    assert "raggate.yml:" in caught.value.message
