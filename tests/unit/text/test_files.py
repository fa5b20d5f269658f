"""Files that a flag named: whole when they are written, and one wording for what the system refuses."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from raggate.errors import CannotTell, FileError, UsageError
from raggate.text import files
from raggate.text.zipped import zipped_lines


def stored(path: Path) -> object:
    """Read all lines."""
    return [*files.stored_lines(path)]


def zipped(path: Path) -> object:
    """Unpack all lines."""
    return [*zipped_lines(path)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """A file is written whole, directories above it included, and read back."""
    files.write_file(tmp_path / "a" / "b", b"\0x")
    assert files.read_file(tmp_path / "a" / "b", most_bytes=2) == b"\0x"


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


@pytest.mark.parametrize("read", [files.read_file, stored, zipped])
def test_a_path_that_leads_to_no_file_is_refused_at_once(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """Nobody writes to a pipe, a device has no end, and a directory has no content: each is named."""
    os.mkfifo(tmp_path / "pipe")
    kinds = {tmp_path / "pipe": "a named pipe", Path("/dev/zero"): "a device"}
    problems = {path: f"{kind}, where a file is expected" for path, kind in kinds.items()}
    for path, problem in {**problems, tmp_path: "Is a directory"}.items():
        with pytest.raises(FileError) as caught:
            read(path)
        assert caught.value.message == f"{path}: {problem}"


@pytest.mark.parametrize("read", [partial(files.read_file, follow=False), stored, zipped])
def test_a_link_in_a_directory_of_others_is_not_followed(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """A link among the files of a run is refused: it could lead to any file of this machine."""
    (tmp_path / "secret").write_bytes(b"")
    (tmp_path / "link").symlink_to("secret")
    with pytest.raises(FileError, match="link: a link, which is not followed: copy the file there"):
        read(tmp_path / "link")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Writing where no file can be is a usage error that names the place."""
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(UsageError, match=r"cannot write .*f/x: "):
        files.write_file(tmp_path / "f" / "x", b"")


def test_a_full_disk(tmp_path: Path) -> None:
    """No space left is no wrong flag: nothing can be told, and the hint says to free some."""
    with pytest.raises(CannotTell, match="No space left") as caught, files.writing(tmp_path / "f"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "f"))
    assert "Free some space" in caught.value.hint
