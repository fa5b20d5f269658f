"""Bytes that are too long for memory: what they give is what was put in, wherever it lies."""

from __future__ import annotations

import errno
import io
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.text import long_bytes
from raggate.text.long_bytes import LongBytes, TooLongError

PIECES = st.lists(st.binary(max_size=8) | st.sampled_from((b"\n", b"\n\n", b"a\nb")), max_size=12)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep ten bytes in memory, and read four at once."""
    monkeypatch.setattr(long_bytes, "IN_MEMORY", 10)
    monkeypatch.setattr(long_bytes, "_PIECE", 4)


@given(PIECES)
def test_gives_what_was_put_in(pieces: list[bytes]) -> None:
    """The bytes come back as a whole, in pieces and line by line, as often as they are read, also at the same time."""
    data, kept = b"".join(pieces), LongBytes(pieces)
    assert (len(kept), kept.whole(), b"".join(kept.pieces())) == (len(data), data, data)
    assert [*kept.lines(100)] == [*io.BytesIO(data)]
    assert all(own == its for own, its in zip(kept.pieces(), kept.pieces(), strict=True))


@given(PIECES, PIECES)
def test_equal_are_those_of_the_same_bytes(left: list[bytes], right: list[bytes]) -> None:
    """Two are equal where their bytes are, however these came."""
    assert (LongBytes(left) == LongBytes(right)) == (b"".join(left) == b"".join(right))
    assert LongBytes(left) == LongBytes([b"".join(left)])
    assert LongBytes(left) != b"".join(left)


def test_more_than_there_may_be_are_refused() -> None:
    """Bytes beyond the number that is allowed, in all or in a line, are an error and not read on."""
    assert len(LongBytes([b"12345", b"67"], most=7)) == 7
    with pytest.raises(TooLongError, match="larger than 6 bytes"):
        LongBytes([b"12345", b"67"], most=6)
    lines = LongBytes([b"ok\n", b"x" * 50]).lines(9)
    assert next(lines) == b"ok\n"
    with pytest.raises(TooLongError, match="a line of more than 9 bytes"):
        next(lines)


def test_few_bytes_touch_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as stay in memory open no file; one more does."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(long_bytes.tempfile, "TemporaryFile", full)
    assert LongBytes([b"0123456789"]).whole() == b"0123456789"
    with pytest.raises(OSError, match="No space left") as caught:
        LongBytes([b"0123456789", b"x"])
    assert caught.value.filename == long_bytes.tempfile.gettempdir()
