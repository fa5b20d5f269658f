"""JSON and numbers: strict in, byte-stable out, one rounding rule, files whole or not at all."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from raggate.text import jsonio


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        pytest.param(0.12345, 4, 0.1235, id="half goes up, although the float lies below it"),
        pytest.param(0.00005, 4, 0.0001, id="smallest half"),
        pytest.param(0.000049999, 4, 0.0, id="below a half"),
        pytest.param(-0.12345, 4, -0.1235, id="half goes away from zero"),
        pytest.param(2.5, 0, 3.0, id="not to even"),
        pytest.param(1.005, 2, 1.01, id="the decimal people see decides"),
        pytest.param(1 / 3, 4, 0.3333, id="a third"),
        pytest.param(0.1 + 0.2, 12, 0.3, id="stored precision drops the noise of sums"),
        pytest.param(7, 4, 7.0, id="whole number"),
        pytest.param(1e300, 4, 1e300, id="too large to have decimals"),
        pytest.param(-1e17, 12, -1e17, id="too large for the stored decimals"),
        pytest.param(math.inf, 4, math.inf, id="infinity stays"),
    ],
)
def test_rounded(value: float, decimals: int, expected: float) -> None:
    """Rounding is half away from zero on the shortest decimal of the float."""
    assert jsonio.rounded(value, decimals) == expected


def test_rounded_has_no_negative_zero() -> None:
    """A small negative number rounds to plain zero, so that no report shows -0.0."""
    assert math.copysign(1, jsonio.rounded(-0.00001)) == 1


def test_rounded_keeps_nan() -> None:
    """NaN is not hidden by rounding."""
    assert math.isnan(jsonio.rounded(math.nan))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([jsonio.SHOWN_DECIMALS, 12]))
def test_rounded_is_near_and_stable(value: float, decimals: int) -> None:
    """Rounding moves a number by at most half a step, is symmetric, and a second time changes nothing."""
    once = jsonio.rounded(value, decimals)
    distance = abs(Decimal(repr(once)) - Decimal(repr(value)))
    # beyond 2^53 / 10^decimals the floats themselves lie further apart than a step
    assert distance <= max(Decimal("0.5").scaleb(-decimals), Decimal(math.ulp(value)))
    assert jsonio.rounded(once, decimals) == once
    assert jsonio.rounded(-value, decimals) == -once


@given(st.integers(-(10**9), 10**9))
def test_rounded_halves_go_away_from_zero(steps: int) -> None:
    """Every exact half of a step goes to the neighbour further from zero."""
    half = Decimal(2 * steps + (1 if steps >= 0 else -1)) / Decimal(20_000)
    expected = float(half.quantize(Decimal("0.0001"), rounding=ROUND_HALF_UP))
    assert jsonio.rounded(float(half)) == expected
    assert abs(expected) > abs(float(half))


@pytest.mark.parametrize(
    ("value", "sign", "expected"),
    [
        (0.03125, False, "0.0313"),
        (-0.03125, True, "-0.0313"),
        (0.00005, True, "+0.0001"),
        (1, False, "1.0000"),
        (0.0, True, "+0.0000"),
        (None, False, "–"),
        (None, True, "–"),
    ],
)
def test_written(value: float | None, expected: str, *, sign: bool) -> None:
    """A value is written with 4 decimals, half away from zero, and a dash where there is none."""
    assert jsonio.written(value, sign=sign) == expected


@given(value=st.floats(-1, 1), sign=st.booleans())
def test_written_is_rounded(value: float, *, sign: bool) -> None:
    """What people read and what programs read is the same number."""
    assert float(jsonio.written(value, sign=sign)) == jsonio.rounded(value)


def test_nothing_else_writes_values() -> None:
    """No module but this one sets decimals of measured values, apart from those that write another tool's own text."""
    package = Path(jsonio.__file__).parent
    writers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r":[+>]?[0-9]*\.[34]f", path.read_text(encoding="utf-8"))
    }
    assert {name for name in writers if name.split("/")[0] not in {"compat", "formats"}} == {"jsonio.py"}


def test_dumps_is_byte_stable() -> None:
    """The same value gives the same bytes whatever the order of its keys, and `pretty` ends in a newline."""
    assert (
        jsonio.dumps({"b": 1, "a": [1.5, None]})
        == jsonio.dumps({"a": [1.5, None], "b": 1})
        == b'{"a":[1.5,null],"b":1}'
    )
    assert jsonio.dumps({"b": 1, "a": 2}, pretty=True) == b'{\n  "a": 2,\n  "b": 1\n}\n'


def test_dumps_writes_nan_as_null() -> None:
    """NaN and infinities become null, as JSON has neither."""
    assert jsonio.dumps([math.nan, math.inf, -math.inf]) == b"[null,null,null]"


@pytest.mark.parametrize("value", [{1, 2}, {("a", "b"): 1}, 2**64], ids=["set", "tuple key", "number too large"])
def test_dumps_refuses(value: object) -> None:
    """A value that JSON does not have is an error."""
    with pytest.raises(TypeError):
        jsonio.dumps(value)


@pytest.mark.parametrize(
    "data",
    [b"NaN", b"[Infinity]", b"{'a': 1}", b'{"a": 1,}', b'"\xff"', b"", b'"\\ud800"', b"1 2", b"[" * 5000],
    ids=["nan", "infinity", "quotes", "comma", "utf-8", "empty", "surrogate", "two values", "depth"],
)
def test_loads_refuses(data: bytes) -> None:
    """What is not strict JSON is a ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 - the parser's message is its own
        jsonio.loads(data)


@pytest.mark.parametrize(
    ("data", "where"),
    [
        pytest.param(b'{"a": x}', "at column 7", id="one line"),
        pytest.param(b'{"a": x}\r\n', "at column 7", id="one line with its end"),
        pytest.param(b'{\n"a": x}', "at line 2, column 6", id="several lines"),
        pytest.param(b'\n\n{"a": x}', "at line 3, column 7", id="empty lines before"),
        pytest.param('{"ä": x}', "at column 7", id="text"),
        pytest.param(b'{"a": "\xff"}', "not valid UTF-8 at byte 7", id="no UTF-8"),
    ],
)
def test_where_loads_stopped(data: bytes | str, where: str) -> None:
    """A text of one line, which may be the third of its file, is not said to be line 1."""
    with pytest.raises(ValueError, match=f"{where}$"):
        jsonio.loads(data)


def test_write_atomic_makes_directories_and_leaves_nothing_else(tmp_path: Path) -> None:
    """A file is written with its directories, readable by others, and no temporary file stays behind."""
    path = tmp_path / "a" / "b.json"
    jsonio.write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o644
    assert [entry.name for entry in path.parent.iterdir()] == ["b.json"]


def test_write_atomic_keeps_the_old_file_on_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new file cannot be put in place, the old one is untouched and no temporary file stays behind."""
    path = tmp_path / "b.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        jsonio.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.json"]


def test_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """A writer that is killed at any moment leaves a file that is whole: one of the two contents, never a part."""
    target = tmp_path / "file"
    contents = (b"a" * 300_000, b"b" * 300_000)
    target.write_bytes(contents[0])
    body = (
        "import itertools, sys\nfrom pathlib import Path\nfrom raggate.text.jsonio import write_atomic\n"
        "print('ready', flush=True)\n"
        "for letter in itertools.cycle((b'b', b'a')):\n    write_atomic(Path(sys.argv[1]), letter * 300_000)\n"
    )
    for milliseconds in range(12):
        with subprocess.Popen([sys.executable, "-c", body, str(target)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(milliseconds / 500)
            writer.kill()
        assert target.read_bytes() in contents


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text(), max_size=3), max_size=4))
@example({"##[error]": "##[group]\u009b31m\u202e\u2028\x7f\U000e0001"})
@example({"\\": "\\##[x]"})
def test_pretty_json_is_harmless_in_a_log(value: dict[str, object]) -> None:
    """What is written for programs shows every character and holds no runner's command, and says the same."""
    document = jsonio.dumps(value, pretty=True).decode()
    assert "##[" not in document
    assert not re.search(r"^\s*::", document, re.MULTILINE)
    assert all(character.isprintable() or character == "\n" for character in document)
    assert jsonio.loads(document) == value
