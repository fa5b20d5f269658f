"""Secrets in every shape they may take are hidden."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raggate.github.runner import secrets

# a star of the replacement beside the rest of a value would look like the value
SECRET = st.text(min_size=secrets.SHORTEST).filter(lambda text: "*" not in text and text.strip() != "")
TOKEN = "ghs_anExampleThatOpensNothing0123456789"  # noqa: S105


@given(st.text(), SECRET, st.text())
def test_no_shape_survives(before: str, secret: str, after: str) -> None:
    """A text that holds any shape of a secret does not hold it afterwards."""
    for form in secrets.forms(secret):
        cleaned = secrets.redact(before + form + after, [secret])
        assert not [shape for shape in secrets.forms(secret) if shape in cleaned]


@given(st.binary(max_size=40), st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=6), st.binary())
def test_inside_base64_of_a_longer_text(before: bytes, secret: str, after: bytes) -> None:
    """A secret in the middle of what was encoded is found at every alignment, in both alphabets."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        cleaned = secrets.redact(text, [secret])
        assert "***" in cleaned
        # what is left of the secret are the characters it shares with its neighbours, one at each end
        assert len(text) - len(cleaned) + 3 >= len(secret) * 8 // 6 - 2


def test_in_an_authorization_header() -> None:
    """The token of a header for HTTP's basic authentication is hidden."""
    header = "AUTHORIZATION: basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    cleaned = secrets.redact(header, [TOKEN])
    assert cleaned.startswith("AUTHORIZATION: basic eC1hY2Nlc3Mtd")
    assert "***" in cleaned


@pytest.mark.parametrize("encode", [quote, quote_plus, lambda text: quote(text, safe="").lower(), json.dumps])
def test_encoded_secrets_are_hidden(encode: object) -> None:
    """A secret in a URL, in a form or in a JSON file is hidden."""
    secret = 'päss "wörd"/&%'.lower()
    assert callable(encode)
    assert "w%c3%b6rd" not in secrets.redact(encode(secret), [secret]).lower()
    assert "w\\u00f6rd" not in secrets.redact(encode(secret), [secret])


def test_each_line_of_a_key_is_hidden() -> None:
    """Of a secret of several lines, each line is hidden on its own, with and without what follows it."""
    key = "-----BEGIN KEY-----\r\nMIIEpAIBAAKCAQEA\r\n}\r\n-----END KEY-----\r\n"
    assert secrets.redact("found MIIEpAIBAAKCAQEA in a.pem }", [key]) == "found *** in a.pem }"


@pytest.mark.parametrize("value", ["", "a", "12345"])
def test_short_values_are_no_secrets(value: str) -> None:
    """Hiding one to five characters would blacken innocent text."""
    assert secrets.forms(value) == ()
    assert secrets.mask([value]) == []
    assert secrets.redact("12345 a", [value]) == "12345 a"


def test_the_longest_shape_is_hidden_first() -> None:
    """Where one secret is part of another, nothing of the longer one is left."""
    assert secrets.redact("say hunter2-longer now", ["hunter2", "hunter2-longer"]) == "say *** now"


def test_mask_commands() -> None:
    """Every shape has its command of one line, and no shape has two."""
    commands = secrets.mask([TOKEN, "50%\nof this", TOKEN])
    assert f"::add-mask::{TOKEN}" in commands
    assert "::add-mask::50%25%0Aof this" in commands
    assert len(commands) == len(set(commands))


@given(st.lists(st.text()))
def test_mask_commands_are_lines(values: list[str]) -> None:
    """No value breaks out of its command."""
    assert all(
        line.startswith("::add-mask::") and "\n" not in line and "\r" not in line for line in secrets.mask(values)
    )
