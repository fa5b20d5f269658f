"""JSON: strict in, byte-stable out, files whole or not at all."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from raggate.base import files, jsonio
from tables import each_row
from tries import tried


def test_dumps_is_byte_stable() -> None:
    """The same value gives the same bytes whatever the order of its keys, and `pretty` ends in a newline."""
    assert (
        jsonio.dumps({"b": 1, "a": [1.5, None]})
        == jsonio.dumps({"a": [1.5, None], "b": 1})
        == b'{"a":[1.5,null],"b":1}'
    )
    assert jsonio.dumps([math.nan, math.inf, -math.inf]) == b"[null,null,null]"
    assert jsonio.dumps({"b": 1, "a": 2}, pretty=True) == b'{\n  "a": 2,\n  "b": 1\n}\n'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), st.lists(VALUES, max_size=3))
@example({}, [])
@example({"##[": "##[\u202e\n"}, [{}, [], {"a": {"b": []}}])
@tried(100)
def test_pieces_are_those_of_the_whole(value: dict[str, object], rows: list[object]) -> None:
    """What is written in pieces is what `dumps` writes, and each iterator in it is a list."""
    whole = {"rows": rows, "in": {**value, "rows": rows}, **value}
    pieces = {"rows": iter(rows), "in": {**value, "rows": iter(rows)}, **value}
    assert "".join(jsonio.pieces(pieces)).encode() == jsonio.dumps(whole, pretty=True)


@each_row(
    ("data", "message"),
    [
        *((data, "column") for data in (b"NaN", b"[Infinity]", b"{'a': 1}", b'{"a": 1,}', b"", b"1 2", b'"\\ud800"')),
        # a text of one line, which may be the third of its file, is not said to be line 1
        (b'{"a": x}', "at column 7$"),
        (b'{\n"a": x}', "at line 2, column 6$"),
        (b'{"a": "\xff"}', "not valid UTF-8 at byte 7$"),
    ],
)
def test_loads_refuses(data: bytes, message: str) -> None:
    """What is not strict JSON is a ValueError that says where."""
    with pytest.raises(ValueError, match=message):
        jsonio.loads(data)


@each_row(("opened", "closed"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_loads_takes_no_more_levels_than_can_be_written(opened: str, closed: str) -> None:
    """200 levels are read and can be written within other values, 201 are refused, and so are 10,000."""

    def nested(levels: int) -> str:
        times = levels // len(closed)
        return opened * times + "[" * (levels % len(closed)) + "1" + "]" * (levels % len(closed)) + closed * times

    jsonio.dumps({"row": [{"value": jsonio.loads(nested(200))}]})
    with pytest.raises(ValueError, match="nested too deeply: at most 200 levels"):
        jsonio.loads(nested(201))
    with pytest.raises(ValueError, match="depth limit exceeded"):
        jsonio.loads(nested(10_000))


def test_write_atomic_keeps_the_old_file_on_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new file cannot be put in place, the old one is untouched and no temporary file stays behind."""
    path = tmp_path / "b.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        files.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.json"]


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text(), max_size=3), max_size=4))
@example({"##[error]": "##[group]\u009b31m\u202e\u2028\x7f\U000e0001"})
@example({"\\": "\\##[x]"})
def test_pretty_json_is_harmless_in_a_log(value: dict[str, object]) -> None:
    """What is written for programs shows every character and has no runner's command, and says the same."""
    document = jsonio.dumps(value, pretty=True).decode()
    assert "##[" not in document
    assert not re.search(r"^\s*::", document, re.MULTILINE)
    assert all(character.isprintable() or character == "\n" for character in document)
    assert jsonio.loads(document) == value


@given(st.dictionaries(st.text(), st.text(), max_size=4))
@example({"##[error]": "##[group]"})
@example({"a": "\x7f\x00\n"})
@example({"a": "\u2028é"})
def test_a_line_is_one_harmless_line(value: dict[str, str]) -> None:
    """A line of a file shows every character, has no runner's command and one line break, and says the same."""
    line = jsonio.dump_line(value).decode()
    assert line.removesuffix("\n").isprintable()
    assert line.endswith("\n")
    assert "##[" not in line
    assert jsonio.loads(line) == value
