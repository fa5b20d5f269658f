"""What the readers of substrate's files share: bytes in, checked JSON values out, one name per mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from raggate.config.retrieval_modes import ALIASES
from raggate.text.files import opened, read_file, reading
from raggate.text.jsonio import parse

MAX_BYTES = 256 << 20


def script_mode(mode: str) -> str:
    """Return the name of a mode as results, traces and metrics by mode write it: `bm25`, as all else says, is `fts`."""
    return next((alias for alias, name in ALIASES.items() if name == mode), mode)


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        UsageError: when it cannot be read or is not JSON.
    """
    return parse(read_bytes(path), str(path))


def read_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Read JSON lines; blank ones are skipped. Gives `file:line` and the value.

    Raises:
        UsageError: when the file cannot be read, or a line is not JSON.
    """
    with reading(path), opened(path) as stream:
        for number, line in enumerate(stream, 1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if text.strip():
                yield f"{path}:{number}", parse(text, f"{path}:{number}")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file without its byte order mark.

    Raises:
        UsageError: when it cannot be read.
    """
    return read_file(path, most_bytes=MAX_BYTES).removeprefix(b"\xef\xbb\xbf")
