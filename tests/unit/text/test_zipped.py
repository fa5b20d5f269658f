"""Packed lines: what went in comes out, and what somebody else packed is never more than it may be."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from raggate.errors import FileError
from raggate.text import zipped as module
from raggate.text.zipped import unzipped, zipped, zipped_lines

LINES = [b'{"a": 1}\n', "é\n".encode(), b"\n", b"without an end"]


def packed(path: Path, data: bytes) -> Path:
    """Write a file."""
    path.write_bytes(data)
    return path


@given(st.lists(st.binary(max_size=50).map(lambda text: text.replace(b"\n", b" ") + b"\n")))
def test_lines_come_back(lines: list[bytes]) -> None:
    """Lines are given as they were, by any program that reads gzip too, and have no time in them."""
    data = b"".join(zipped(lines))
    assert unzipped(data, 10_000) == gzip.decompress(data) == b"".join(lines)
    assert data[4:8] == bytes(4)


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    """Each line comes with its end; files behind one another are one file, as for any program that reads gzip."""
    path = packed(tmp_path / "f", b"".join(zipped(LINES[:2])) + b"".join(zipped(LINES[2:])))
    assert list(zipped_lines(path)) == LINES


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data[:-9],
        lambda data: b"",
        lambda data: data + b"x",
        lambda data: b"{}\n",
        lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
        lambda data: data[:12] + bytes([data[12] ^ 255]) + data[13:],
    ],
    ids=["cut", "end cut off", "empty", "something behind it", "not packed", "wrong checksum", "changed"],
)
def test_what_is_broken_is_named(tmp_path: Path, spoil: object) -> None:
    """A file that is not whole, or no gzip at all, is an error with its name; nothing of it passes for all of it."""
    data = spoil(b"".join(zipped(LINES)))  # type: ignore[operator]
    with pytest.raises(FileError, match="run/f: not a whole gzip file: "):
        list(zipped_lines(packed(tmp_path / "f", data), name=Path("run/f")))
    with pytest.raises(ValueError, match="not a whole gzip file"):
        unzipped(data, 10_000)


@given(st.binary() | st.binary().map(lambda tail: gzip.compress(b"a\n") + tail))
def test_any_bytes_are_lines_or_an_error(data: bytes) -> None:
    """Whatever a file holds, it is read or told to be broken."""
    with suppress(ValueError):
        content = unzipped(data, 10_000)
        assert content == gzip.decompress(data)


def test_a_file_that_grows_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bytes that stand for many are refused once the bound is reached, be it in one line or in many."""
    monkeypatch.setattr(module, "MOST_BYTES", 1_000_000)
    for line in (b"0" * 10_000_000, b"000000000\n" * 1_000_000):
        path = packed(tmp_path / "f", gzip.compress(line))
        taken: list[int] = []
        with pytest.raises(FileError, match="f: it would grow to more than 200 times its size"):
            taken.extend(map(len, zipped_lines(path)))
        assert sum(taken) <= max(1_000_000, 200 * path.stat().st_size)


def test_bytes_that_grow_too_far_are_refused() -> None:
    """Content may unpack to as many bytes as it is given, and to no more."""
    data = gzip.compress(bytes(1000))
    assert unzipped(data, 1000) == bytes(1000)
    with pytest.raises(ValueError, match="it unpacks to more than 999 bytes"):
        unzipped(data, 999)
