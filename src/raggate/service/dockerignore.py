"""What the .dockerignore of a build context keeps out of it: read once, for the build and for what looks into it."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 64 << 10
"""No more of it is read."""


def patterns(context: Path) -> list[str]:
    """Return the patterns as the library reads them that sends the context; none where there is no such file."""
    file = context / ".dockerignore"
    try:
        if not file.is_file():
            return []
        with file.open("rb") as stream:
            text = stream.read(MAX_BYTES).decode(errors="replace")
    except OSError:
        return []
    return [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
