"""YAML: safe, bounded, without surprises; and every error with its line."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, strategies as st

from raggate.base import yamlio
from raggate.base.errors import UsageError
from tables import each_row


def refusal(data: bytes) -> str:
    """Return the message with which a document is refused."""
    with pytest.raises(UsageError) as caught:
        yamlio.parse(data, "f.yml")
    return str(caught.value)


@each_row(
    ("data", "expected"),
    [
        pytest.param(b"a: 1\nb: [x, 2.5, true, null]\n", {"a": 1, "b": ["x", 2.5, True, None]}, id="plain values"),
        pytest.param(b"\xef\xbb\xbfa: 1", {"a": 1}, id="byte order mark"),
        pytest.param(b"a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}, id="CRLF"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"# nothing\n", None, id="only a comment"),
        pytest.param(b"off: off\nno: yes\n", {"off": "off", "no": "yes"}, id="off and yes are words"),
        pytest.param(b"1: a\n1.0: b\n", {"1": "a", "1.0": "b"}, id="keys are what stands in the file"),
        pytest.param(b"a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}, id="alias"),
        pytest.param(b"<<: {a: 1}\n", {"<<": {"a": 1}}, id="a merge key is a key like any other"),
        pytest.param(b"a: !!str 1\n", {"a": "1"}, id="explicit tag"),
        pytest.param(b"[2026-12-31, 1:30, 1_0, 0b1, 1:1.5]", ["2026-12-31", "1:30", "1_0", "0b1", "1:1.5"], id="text"),
        pytest.param(b"[010, 0o10, 0x1F, +1, -2]", [10, 8, 31, 1, -2], id="whole numbers of YAML 1.2"),
        pytest.param(b"[1e3, .5, 2., -.inf, 1e-2]", [1000.0, 0.5, 2.0, float("-inf"), 0.01], id="real numbers"),
        pytest.param(b"[TRUE, False, ~, Null, yes, tRUE]", [True, False, None, None, "yes", "tRUE"], id="words"),
        pytest.param(b"['1', \"true\"]", ["1", "true"], id="what is quoted is text"),
    ],
)
def test_parse(data: bytes, expected: object) -> None:
    """A document is read as its text says."""
    assert yamlio.parse(data, "f.yml").value == expected


# 15 lists of 10 times the one before: 10^15 items once expanded
BOMB = b"a0: &a0 [x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (level, level, b",".join([b"*a%d" % (level - 1)] * 10)) for level in range(1, 16)
)


@each_row(
    ("data", "place", "message"),
    [
        pytest.param(b"a: 1\nb: {c: 1, c: 2}\n", "f.yml:2", "key 'b.c' occurs twice", id="duplicate key"),
        pytest.param(b"a: 1\n'a': 2\n", "f.yml:2", "key 'a' occurs twice", id="duplicate key in quotes"),
        pytest.param(b"a: 1\n<<<<<<< HEAD\n", "f.yml:2", "unresolved merge conflict", id="conflict, ours"),
        pytest.param(BOMB, "f.yml:", "too large or too deep once aliases are expanded", id="alias bomb"),
        pytest.param(b"a: &x [*x]\n", "f.yml:1", "too large or too deep", id="alias of itself"),
        pytest.param(b"[" * 500, "f.yml", "nested too deeply", id="500 levels"),
        pytest.param(b"a: \xff\n", "f.yml", "not valid UTF-8 at byte 3", id="not UTF-8"),
        pytest.param(b"a: 1\nb: [1\n", "f.yml:3", "not valid YAML", id="syntax"),
        pytest.param(b"a: 1\n---\nb: 2\n", "f.yml:2", "another document", id="two documents"),
        pytest.param(b"? [a]\n: b\n", "f.yml:1", "expected a plain key", id="list as key"),
        pytest.param(b"a: !!python/object:os.system x\n", "f.yml:1", "python/object", id="Python object"),
        pytest.param(b"a: !x {b: 1}\n", "f.yml:1", "unexpected tag '!x'", id="unknown tag of a mapping"),
        pytest.param(b"a: *x\n", "f.yml:1", "undefined alias", id="unknown alias"),
        pytest.param(b'a: "\\UFFFFFFFF"\n', "f.yml", "not valid YAML", id="escape far out of range"),
        pytest.param(b"%YAML " + b"1" * 5000 + b".1\n--- a", "f.yml", "not valid YAML", id="huge version"),
        pytest.param(b"a: 1\nb: \xff\n", "f.yml:2", "not valid UTF-8 at byte 8", id="the line of invalid bytes"),
        pytest.param(b"a: " + b"9" * 5000, "f.yml:1", "at most 1000 digits", id="number too long"),
        pytest.param(b"a: 0x" + b"f" * 5000, "f.yml:1", "at most 1000 digits", id="hexadecimal number too long"),
        pytest.param(b"a" * (yamlio.MAX_BYTES + 1), "f.yml", "expected at most 65536", id="file too large"),
    ],
)
def test_parse_refuses(data: bytes, place: str, message: str) -> None:
    """What is not one safe, bounded document is refused with file, line and cause."""
    refused = refusal(data)
    assert refused.startswith(place)
    assert message in refused


@given(st.binary(max_size=80) | st.text("a:1 -[]{}&*!?|>'\"%@\n\t#\\x0", max_size=60).map(str.encode))
@example(b"<<: *a")
@example(b"!!int ''")
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    """No input at all crashes the reader."""
    try:
        line = yamlio.parse(data, "f.yml").line(("no such key",))
        outcome = f"f.yml:{line}"
    except UsageError as error:
        outcome = str(error)
    assert outcome.startswith("f.yml:")


def test_a_parser_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever text keeps the parser from ending, the document is refused, and so it is the next time."""

    def endless(*_: object, **__: object) -> None:
        while True:
            pass

    monkeypatch.setattr(yamlio, "START_S", 0.05)
    monkeypatch.setattr("yaml.compose", endless)
    for _ in range(2):
        assert refusal(b"never: ending").startswith("f.yml: not read within 0.05")


@each_row("unit", ["1:", "9", "1_", ".", "-", "e", " ", "x ", "\\n", "0x"])
@each_row("before", ["a: ", "a: 1", 'a: "'])
def test_the_largest_scalar(before: str, unit: str) -> None:
    """One scalar as long as a file may be is read or refused at once; no text is taken for a number in base sixty."""
    data = (before + unit * yamlio.MAX_BYTES)[: yamlio.MAX_BYTES - 1] + ('"' if '"' in before else "1")
    begun = time.process_time()
    try:
        outcome = yamlio.parse(data.encode(), "f.yml").name
    except UsageError as error:
        outcome = str(error)
    assert outcome.startswith("f.yml")
    assert time.process_time() - begun < 5  # 377 s once


@each_row(
    ("path", "line"),
    [
        pytest.param(("a",), 2, id="key"),
        pytest.param(("a", "b"), 3, id="nested key"),
        pytest.param(("a", "c", 1), 6, id="item"),
        pytest.param(("a", "b", "x", "y"), 3, id="nearest enclosing key"),
        pytest.param(("z",), 2, id="not in the file: where it begins"),
        pytest.param((), 2, id="the document"),
    ],
)
def test_line(path: yamlio.Path, line: int) -> None:
    """Every key and item is found by its line, from 1."""
    assert yamlio.parse(b"# comment\na:\n  b: 1\n  c:\n    - 1\n    - 2\n", "f.yml").line(path) == line
