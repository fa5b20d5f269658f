"""The section `prove` of raggate.yml: what a declared fault is, and what is refused."""

from __future__ import annotations

import pytest

from raggate.base.errors import UsageError
from raggate.config import schema
from raggate.config.gate_settings import DeclaredFault
from tables import each_row

MINIMAL = "vault: {notes: vault}\napi: {url: 'http://127.0.0.1:9000'}\n"


def load(section: str) -> list[DeclaredFault]:
    return schema.load(f"{MINIMAL}prove:\n{section}".encode(), "raggate.yml").prove.faults


def test_without_the_section_the_known_faults_are_tried() -> None:
    """No fault is declared, and nine of ten harmful faults must be caught."""
    prove = schema.load(MINIMAL.encode(), "raggate.yml").prove
    assert prove.faults == []


def test_a_fault_is_variables_or_a_patch() -> None:
    """Each has a name, and one way to be made."""
    first, second = load("  faults:\n    - {name: a, env: {X: '1'}}\n    - {name: b, patch: faults/b.patch}\n")
    assert (first.env, first.patch, second.env, second.patch) == ({"X": "1"}, None, {}, "faults/b.patch")


@each_row(
    ("section", "message"),
    [
        ("  faults: [{name: a}]", "expected exactly one of 'env' and 'patch'"),
        ("  faults: [{name: a, env: {X: '1'}, patch: a.patch}]", "expected exactly one of 'env' and 'patch'"),
        ("  faults: [{name: a, env: {}}]", "expected exactly one of 'env' and 'patch'"),
        ("  faults: [{name: a, patch: ../a.patch}]", "expected a relative path inside the repository"),
        ("  faults: [{name: a, patch: /a.patch}]", "expected a relative path inside the repository"),
        ("  faults: [{name: ../a, env: {X: '1'}}]", "prove.faults"),
        ("  faults: [{name: a, env: {'X=Y': '1'}}]", "prove.faults"),
        ("  faults: [{name: a, env: {X: '1'}}, {name: a, patch: b}]", "expected distinct names, 'a' is used twice"),
        ("  fault: []", "unknown key 'prove.fault'; did you mean 'faults'?"),
    ],
)
def test_mistakes_are_named(section: str, message: str) -> None:
    """A fault that is made in no way or in two, leads out of the project, or has a name twice is refused."""
    with pytest.raises(UsageError) as caught:
        load(section)
    assert message in caught.value.message
    assert "raggate.yml:" in caught.value.message
