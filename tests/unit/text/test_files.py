"""Files that a flag named: whole when they are written, and one wording for what the system refuses."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from raggate.errors import CannotTell, FileError, UsageError
from raggate.text import files


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


def test_what_is_no_stored_file_is_not_opened(tmp_path: Path) -> None:
    """A pipe that nobody writes to, and a device without end, are told at once where a stored file is expected."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name, kind in (("pipe", "a named pipe"), ("link", "a device")):
        with pytest.raises(FileError, match=f"{name}: {kind}, where a file is expected"):
            files.read_file(tmp_path / name, stored=True)


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
