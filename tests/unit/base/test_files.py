"""Files that a flag named: whole when they are written, and one wording for what the system refuses."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from raggate.base import files
from raggate.base.errors import CannotTell, FileError, UsageError
from raggate.base.files import unzipped, zipped, zipped_lines
from tables import each_row


def stored(path: Path) -> object:
    """Read all lines."""
    return [*files.stored_lines(path)]


def unpacked(path: Path) -> object:
    """Unpack all lines."""
    return [*zipped_lines(path)]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Reading says which file and why, by the name it was given, and what to do."""
    with pytest.raises(FileError) as caught:
        files.read_file(tmp_path / "none", "Look again.", name=Path("run/none"))
    assert (caught.value.message, caught.value.hint) == ("run/none: No such file or directory", "Look again.")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    """A file of more bytes than are taken is not read."""
    (tmp_path / "f").write_bytes(b"123")
    with pytest.raises(FileError, match="f: larger than 2 bytes"):
        files.read_file(tmp_path / "f", most_bytes=2)
    # a file of /proc says that it has no bytes
    with pytest.raises(FileError, match="status: larger than 9 bytes"):
        files.read_file(Path("/proc/self/status"), most_bytes=9)


def test_a_line_that_is_too_long(tmp_path: Path) -> None:
    """A line of more bytes than any file of lines has is named, and not read to its end."""
    (tmp_path / "f").write_bytes(b"1\n")
    os.truncate(tmp_path / "f", 1 << 30)
    with pytest.raises(FileError, match="f:2: a line of more than 33554432 bytes"):
        stored(tmp_path / "f")


@pytest.mark.parametrize("read", [files.read_file, stored, unpacked])
def test_a_path_that_leads_to_no_file_is_refused_at_once(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """Nobody writes to a pipe, a device has no end, and a directory has no content: each is named."""
    os.mkfifo(tmp_path / "pipe")
    kinds = {tmp_path / "pipe": "a named pipe", Path("/dev/zero"): "a device"}
    problems = {path: f"{kind}, where a file is expected" for path, kind in kinds.items()}
    for path, problem in {**problems, tmp_path: "Is a directory"}.items():
        with pytest.raises(FileError) as caught:
            read(path)
        assert caught.value.message == f"{path}: {problem}"


@pytest.mark.parametrize("read", [partial(files.read_file, follow=False), stored, unpacked])
def test_a_link_in_a_directory_of_others_is_not_followed(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """A link among the files of a run is refused: it could lead to any file of this machine."""
    (tmp_path / "secret").write_bytes(b"")
    (tmp_path / "link").symlink_to("secret")
    with pytest.raises(FileError, match=r"link: a link\. Put a copy of the file there instead"):
        read(tmp_path / "link")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Writing where no file can be is a usage error that names the place."""
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(UsageError, match=r"cannot write .*f/x: "):
        files.write_file(tmp_path / "f" / "x", b"")


@each_row("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_what_is_full_cannot_tell(number: int) -> None:
    """No space, a quota that is used up and a file that is too large cannot tell, and the hint says what to do."""
    with pytest.raises(CannotTell) as caught, files.writing(Path("/f")):
        raise OSError(number, os.strerror(number), "/f")
    assert caught.value.message == f"/f: {os.strerror(number)}"
    assert ("Free some space" in caught.value.hint) is (number != errno.EFBIG)


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


def test_a_file_that_grows_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bytes that stand for many are refused once the bound is reached, be it in one line or in many."""
    monkeypatch.setattr(files, "MOST_UNZIPPED", 1_000_000)
    for line in (b"0" * 10_000_000, b"000000000\n" * 1_000_000):
        path = packed(tmp_path / "f", gzip.compress(line))
        taken: list[int] = []
        with pytest.raises(FileError, match="f: unpacked it would be more than 200 times as large"):
            taken.extend(map(len, zipped_lines(path)))
        assert sum(taken) <= max(1_000_000, 200 * path.stat().st_size)


def test_bytes_that_grow_too_far_are_refused() -> None:
    """Content may unpack to as many bytes as it is given, and to no more."""
    data = gzip.compress(bytes(1000))
    assert unzipped(data, 1000) == bytes(1000)
    with pytest.raises(ValueError, match="it unpacks to more than 999 bytes"):
        unzipped(data, 999)
