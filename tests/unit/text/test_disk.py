"""What is told of a disk that takes no more."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from raggate.text import disk


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


def test_a_disk_that_may_only_be_read_is_told_without_its_space() -> None:
    """How much is free says nothing where nobody may write."""
    told = disk.unwritable(OSError(errno.EROFS, "Read-only file system", "/"))
    assert told is not None
    assert told.message == "/: Read-only file system"
