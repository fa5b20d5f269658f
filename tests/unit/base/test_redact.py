"""What is secret in an environment, and streams without it, however they are cut."""

from __future__ import annotations

import ast
import base64
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, strategies as st
from msgspec import Struct

from own_source import MODULES, dotted, source, tree
from raggate.base import unicode
from raggate.base.quote import cut, quoted
from raggate.base.redact import SHORTEST, Redactor, Scrubber, forms, of_environment, redact, redact_cut
from raggate.service.backends.processes import Log
from tables import each_row

NAMES = "environment|secrets?|token|passwords?|headers|credentials?|api_key"
SECRET_guarded = re.compile(
    rf"[._]({NAMES}): "
    r"|Headers\.values: "
    # of the step, the token among them
    r"|\.inputs: Mapping\[str, str\]"
)
"""Fields whose values nobody may read; of a key alone one cannot tell, and tokens are counted."""


def secret_fields() -> Iterator[tuple[Any, list[str]]]:
    """Every noun of the source with such fields. Settings and dicts of that shape hold names of variables only."""
    # a syntax tree takes a hundred times as long as a look for the names
    for name in (name for name in MODULES if re.search(rf"({NAMES}|inputs|values): ", source(name))):
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.ClassDef):
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
                written = {ast.unparse(part.target): ast.unparse(part.annotation) for part in fields}
                secret = [
                    field for field, kind in written.items() if SECRET_guarded.search(f"{node.name}.{field}: {kind}")
                ]
                noun = getattr(import_module(dotted(name)), node.name) if secret else None
                if noun is not None and (issubclass(noun, Struct | tuple) or is_dataclass(noun)):
                    yield noun, secret


def test_no_secret_is_shown_where_a_noun_is_printed() -> None:
    """The `repr` of a noun, as tracebacks show it, has no value of a field that is named like a secret."""
    shown, nouns = [], set()
    for noun, secret in secret_fields():
        values = {**dict.fromkeys(noun.__annotations__, "shown"), **dict.fromkeys(secret, "hush")}
        nouns.add(noun.__name__)
        if "hush" in repr(noun(**values)):
            shown.append((noun, secret))
    assert shown == []
    assert {"Headers", "Request", "Workspace"} <= nouns


KEY = "sk-0123456789/+äb"
LONG = "-----BEGIN-----\nMIIEpAIBAAKCAQEA\n-----END-----"
# a star of the replacement beside the rest of a value would look like the value
SECRET = st.text(min_size=SHORTEST).filter(lambda text: "*" not in text and text.strip() != "")


@each_row(
    ("name", "value", "secret"),
    [
        ("SEARCH_KEY", "12345678", True),
        ("search_token", "12345678", True),
        ("DB_PASSWORD", "12345678", True),
        ("HTTP_AUTH", "12345678", True),
        ("AWS_CREDENTIALS", "12345678", True),
        ("SEARCH_KEY", "1234567", False),
        ("PATH", "/usr/local/bin:/usr/bin", False),
        ("LC_ALL", "C.UTF-8.long", False),
        ("GOCACHE", "/home/somebody/.cache/go", False),
    ],
)
def test_names_say_what_is_secret(name: str, value: str, *, secret: bool) -> None:
    """A variable that is handed on is secret when its name says so and its value is long enough to be one."""
    assert of_environment({name: value}, [name]) == ((value,) if secret else ())


def test_tokens_of_the_runner_are_secret_without_being_handed_on() -> None:
    """The step's token is hidden in any spelling of its variable, other variables only when they are handed on."""
    environment = {"INPUT_GITHUB-TOKEN": "ghs_012345", "ACTIONS_RUNTIME_TOKEN": "eyJhbGci", "OTHER_TOKEN": "12345678"}
    assert set(of_environment(environment)) == {"ghs_012345", "eyJhbGci"}
    assert of_environment({"INPUT_TOKEN-LOGIN": "my-app[bot]"}) == ()


@pytest.mark.parametrize("secret", [KEY, LONG])
@given(data=st.data())
def test_streams_are_clean_wherever_they_are_cut(secret: str, data: st.DataObject) -> None:
    """A value in any of its shapes is gone from a stream, and nothing else is, wherever it is cut into pieces."""
    part = st.one_of(
        st.sampled_from([form for form in forms(secret) if "\n" not in form]), st.text("ab\n=%", max_size=9)
    )
    text = "".join(data.draw(st.lists(part, max_size=6)))
    whole = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    redactor = Redactor([secret])
    pieces = [whole[start:end] for start, end in itertools.pairwise([0, *cuts, len(whole)])]
    cleaned = b"".join([*map(redactor.feed, pieces), redactor.flush()]).decode()
    assert cleaned == redact(text, [secret])
    assert not [form for form in forms(secret) if form in cleaned]


@given(data=st.data())
def test_streams_hide_what_reads_as_a_secret(data: st.DataObject) -> None:
    """A value with unseen characters between its letters is gone from a stream too, wherever that is cut."""
    unseen = st.text(st.sampled_from("\u200b\u2060\xad\ufeff\U000e0020"), max_size=2)
    text = "key=" + "".join(letter + data.draw(unseen) for letter in KEY) + " on\n"
    whole = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    redactor = Redactor([KEY])
    pieces = [whole[start:end] for start, end in itertools.pairwise([0, *cuts, len(whole)])]
    assert b"".join([*map(redactor.feed, pieces), redactor.flush()]).decode() == "key=*** on\n"


@given(pieces=st.lists(st.binary(max_size=12).filter(lambda piece: piece.isascii() or 0xFF in piece), max_size=6))
def test_streams_that_are_no_text_stay_as_they_are(pieces: list[bytes]) -> None:
    """Bytes that are no UTF-8 pass as they came, but for characters that nobody sees."""
    redactor = Redactor([KEY])
    cleaned = b"".join([*map(redactor.feed, pieces), redactor.flush()])
    assert cleaned.count(b"\xff") == b"".join(pieces).count(b"\xff")


@given(length=st.integers(0, len(KEY)), before=st.text(max_size=5), after=st.text(max_size=5))
def test_a_secret_that_was_cut_off_is_hidden_too(length: int, before: str, after: str) -> None:
    """A message that was shortened in the middle of a secret does not end with the first half of it."""
    cleaned = redact_cut(f"{before} {KEY[:length]}…{after}", [KEY])
    assert cleaned.endswith(f"…{unicode.without(after)}")
    assert KEY[:6] not in cleaned
    assert redact_cut(f"{KEY} and {KEY[:8]}…; {KEY[:7]}…", [KEY]) == "*** and ***…; ***…"


def test_logs_hide_secrets_in_memory_and_on_disk(tmp_path: Path) -> None:
    """Neither the kept lines nor the file hold a secret that comes in two pieces; what is not one is there at once."""
    with Log(tmp_path / "api.log", [KEY]) as log:
        log.feed(f"starting\nkey={KEY[:9]}".encode())
        assert log.tail()[0] == "starting"
        log.feed(f"{KEY[9:]} and on\nunfinished {KEY}".encode())
        assert log.tail() == ("starting", "key=*** and on", "unfinished ***")
    assert (tmp_path / "api.log").read_text() == "starting\nkey=*** and on\nunfinished ***"


@given(st.text(), SECRET, st.text())
def test_no_shape_survives(before: str, secret: str, after: str) -> None:
    """A text that holds any shape of a secret does not hold it afterwards."""
    for form in forms(secret):
        cleaned = redact(before + form + after, [secret])
        assert not [shape for shape in forms(secret) if shape in cleaned]


@given(st.binary(max_size=40), st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=6), st.binary())
def test_inside_base64_of_a_longer_text(before: bytes, secret: str, after: bytes) -> None:
    """A secret in the middle of what was encoded is found at every alignment, in both alphabets."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        cleaned = redact(text, [secret])
        assert "***" in cleaned
        # what is left of the secret are the characters it shares with its neighbours, one at each end
        assert len(text) - len(cleaned) + 3 >= len(secret) * 8 // 6 - 2


@each_row("encode", [quote, quote_plus, lambda text: quote(text, safe="").lower(), json.dumps])
def test_encoded_secrets_are_hidden(encode: object) -> None:
    """A secret in a URL, in a form or in a JSON file is hidden."""
    secret = 'päss "wörd"/&%'.lower()
    assert callable(encode)
    assert "w%c3%b6rd" not in redact(encode(secret), [secret]).lower()
    assert "w\\u00f6rd" not in redact(encode(secret), [secret])


@each_row(
    ("text", "secrets", "shown"),
    [
        # of several lines, each by itself, with and without what follows it
        (
            "found MIIEpAIBAAKCAQEA in a.pem }",
            ["-----BEGIN KEY-----\r\nMIIEpAIBAAKCAQEA\r\n}\r\n-----END KEY-----\r\n"],
            "found *** in a.pem }",
        ),
        # hiding one to five characters would blacken innocent text
        ("12345 a", ["", "a", "12345"], "12345 a"),
        # where one is part of another, nothing of the longer one is left
        ("say hunter2-longer now", ["hunter2", "hunter2-longer"], "say *** now"),
    ],
)
def test_what_is_hidden(text: str, secrets: list[str], shown: str) -> None:
    """Secrets of several lines, too short ones and ones within another are hidden as far as is safe."""
    assert redact(text, secrets) == shown


@each_row("between", ["\u200b", "\u00ad", "\u2060", "\u0378"], ids=["zero width", "soft", "joiner", "unassigned"])
def test_a_secret_with_what_nobody_sees_between_its_letters(between: str) -> None:
    """What is written with invisible characters between the letters of a secret is that secret for whoever reads it."""
    apart = between.join(KEY)
    assert redact_cut(f"it is {apart}", [KEY]) == "it is ***"
    assert redact_cut(f"it is {apart[:-4]}…", [KEY]) == "it is ***…"
    assert Scrubber([KEY])((apart,)) == ("***",)


@each_row("secret", ["pa'ss\"word-1234", "back\\slash-1234", "two  spaces\tand a tab"])
def test_a_quoted_secret(secret: str) -> None:
    """A secret is found as messages quote it, and on one line."""
    assert redact_cut(quoted(f"token={secret}"), [secret]) == "'token=***'"
    assert redact_cut(cut(f"token={secret}"), [secret]) == "token=***"
