"""The file of a run directory that holds its answers: packed by gzip; older versions wrote the lines as they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from raggate.errors import UsageError
from raggate.text.files import stored_lines
from raggate.text.jsonio import write_atomic
from raggate.text.zipped import zipped, zipped_lines

FILE = "results.jsonl.gz"
PLAIN = "results.jsonl"
"""What versions wrote that did not pack it."""


def exists(directory: Path) -> bool:
    """Return whether there are answers in a directory, or what stands in their place and cannot be read."""
    return any(os.path.lexists(directory / name) for name in (FILE, PLAIN))


def write(directory: Path, rows: Iterable[bytes]) -> None:
    """Write the rows, each with its end, in place of any that are there."""
    write_atomic(directory / FILE, zipped(rows))
    (directory / PLAIN).unlink(missing_ok=True)


def lines(directory: Path, hint: str = "", *, named: Path | None = None) -> tuple[str, Iterator[bytes]]:
    """Return what messages call the file, and its lines, each with its end.

    Args:
        directory: the run directory; nothing in it is trusted.
        named: what messages call the directory in its place.

    Raises:
        UsageError: when there are two such files; with the lines, when there is none or it cannot be read.
    """
    named = directory if named is None else named
    if all((directory / name).exists() for name in (FILE, PLAIN)):
        raise UsageError(
            f"{named / PLAIN}: {FILE} is there too, and both may hold the answers", hint="Remove one of the two."
        )
    if (directory / PLAIN).exists():
        return str(named / PLAIN), stored_lines(directory / PLAIN, hint, name=named / PLAIN)
    return str(named / FILE), zipped_lines(directory / FILE, hint, name=named / FILE)
