"""What invariants that ask questions of their own may be configured with, and what is refused with why."""

from __future__ import annotations

from typing import Any

import pytest

from raggate.base.errors import UsageError
from raggate.base.jsonio import dumps
from raggate.config.schema import load
from tables import each_row

BASE: dict[str, Any] = {"vault": {"work": "w"}, "api": {"url": "http://127.0.0.1:1"}}
ANNA = {"headers": {"X-User": "anna"}, "sees": ["work"]}


def principals(**principal: Any) -> dict[str, Any]:
    return {"ask": {"principals": {"anna": {**ANNA, **principal}}}}


@each_row(
    "keys",
    [
        principals(),
        principals(headers={}, vaults=["work"]),
        principals(headers={"X": "{env.KEY}"}),
        {"private": {"places": ["work/In"], "tags": ["secret"], "front_matter": {"private": [True, "yes"]}}},
    ],
)
def test_what_is_taken(keys: dict[str, Any]) -> None:
    """Headers, vaults, places and a call to index again are read."""
    assert load(dumps({**BASE, **keys}), "raggate.yml").suite == "default"


@each_row(
    ("keys", "words"),
    [
        (principals(headers={}), "expected 'headers' or 'vaults', so that the API can see who asks"),
        (principals(headers={"Host": "x"}), "expected the name of a header that raggate does not set, found 'Host'"),
        (
            principals(headers={"X": "{env.GITHUB_TOKEN}"}),
            "principals.anna.headers: X: expected a variable that is not the runner's, Docker's or raggate's",
        ),
        (principals(headers={"X": "{question}"}), "expected placeholders among none, found {question}"),
        (principals(headers={"X": "a\tb"}), "expected printable ASCII characters"),
        (principals(sees=["home"]), "ask.principals.anna.sees: expected one of the vaults work, found 'home'"),
        (principals(vaults=["home"]), "ask.principals.anna.vaults: expected one of the vaults work"),
        (principals(sees=["work/../home"]), "expected a vault, or a folder or note in one"),
        (principals(sees=["work/"]), "expected a vault, or a folder or note in one"),
        ({"private": {"places": ["elsewhere"]}}, "private.places: expected one of the vaults work, found 'elsewhere'"),
    ],
)
def test_what_is_refused(keys: dict[str, Any], words: str) -> None:
    """Each mistake is named with what was expected."""
    with pytest.raises(UsageError) as caught:
        load(dumps({**BASE, **keys}), "raggate.yml")
    assert words in caught.value.message


def test_a_program_has_no_principals() -> None:
    """A program makes no HTTP calls, so it takes no headers; the configuration says so."""
    ask = {"adapter": "kebab", **principals()["ask"]}
    with pytest.raises(UsageError, match=r"ask\.principals: remove it, as kebab"):
        load(dumps({**BASE, "ask": ask, "api": {"command": {"run": ["kebab"]}}}), "raggate.yml")
