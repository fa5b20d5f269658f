"""The answers of a run directory as the lines that older versions wrote, which tests read and change."""

from __future__ import annotations

import gzip
from pathlib import Path

from raggate.pipeline import result_rows


def plain_rows(directory: Path) -> Path:
    """Unpack the answers of a run directory in place, and give their file, which is read like the packed one."""
    packed, path = directory / result_rows.RESULTS, directory / result_rows.PLAIN
    if packed.exists():
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return path


def files_of(directory: Path) -> dict[str, bytes]:
    """Return the files of a run directory by name, its answers as lines."""
    plain_rows(directory)
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
