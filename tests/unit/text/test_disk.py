"""What is told of a disk that takes no more."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from raggate.errors import CannotTell
from raggate.text import disk
from tables import each_row


class Space(NamedTuple):
    """What the system says of a disk: free blocks, bytes of each, and free files."""

    f_bavail: int
    f_frsize: int
    f_favail: int


@pytest.mark.parametrize("named", ["", "full.json", "gone/full.json"])
def test_the_space_is_that_of_the_place_where_it_ran_out(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a directory, which may be a disk of its own, it is its own; of a file, that of the directory it is in."""
    spaces = {tmp_path: Space(1, 1 << 20, 7), tmp_path.parent: Space(9999, 1 << 20, 9999)}
    monkeypatch.setattr(os, "statvfs", spaces.__getitem__)

    told = disk.unwritable(disk.naming(OSError(errno.ENOSPC, "No space left on device"), tmp_path / named))

    assert told is not None
    assert told.message == f"{tmp_path / named}: No space left on device; 1.0 MiB and room for 7 files are left there"


@each_row("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_what_is_full_is_told_with_the_space_that_is_left(number: int) -> None:
    """No space, a quota that is used up and a file that is too large cannot tell, with how much would fit there."""
    told = disk.unwritable(OSError(number, os.strerror(number), "/"))
    assert isinstance(told, CannotTell)
    assert told.message.startswith(f"/: {os.strerror(number)}; ")


@each_row("number", [errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO])
def test_what_is_closed_is_told_without_its_space(number: int) -> None:
    """Where nobody may write, or no disk answers, nothing can be told either; how much is free says nothing."""
    told = disk.unwritable(OSError(number, os.strerror(number), "/"))
    assert isinstance(told, CannotTell)
    assert told.message == f"/: {os.strerror(number)}"


def test_any_other_error_is_none_of_a_disk() -> None:
    """It may be a bug, and is told as one."""
    assert disk.unwritable(OSError(errno.EBADF, os.strerror(errno.EBADF), "/")) is None
