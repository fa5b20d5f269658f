"""The directories of vaults -> a hash of all that an API gets of them: every file and link, not the notes alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import file_digest, sha256
from pathlib import Path

from raggate.errors import UsageError
from raggate.text.jsonio import dumps


def content(directories: Mapping[str, Path]) -> str:
    """Give the SHA-256 of paths, kinds and contents. Times are left out: a checkout makes them anew.

    Raises:
        UsageError: for a file that cannot be read.
    """
    whole = sha256()
    for name, directory in sorted(directories.items()):
        whole.update(dumps([name]) + b"\n")
        for folder, subfolders, files in os.walk(directory):
            subfolders.sort()
            for entry in sorted([*subfolders, *files]):
                path = Path(folder, entry)
                whole.update(dumps([ascii(path.relative_to(directory).as_posix()), *_entry(path)]) + b"\n")
    return whole.hexdigest()


def _entry(path: Path) -> tuple[str, str]:
    if path.is_symlink():
        return "link", ascii(str(path.readlink()))
    if not path.is_file():
        return "directory", ""
    try:
        with path.open("rb") as stream:
            return "file", file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
