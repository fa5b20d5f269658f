"""A traceback -> a report that can be pasted into an issue: versions first, and nobody's paths."""

from __future__ import annotations

import platform
from pathlib import Path

from raggate import __version__
from raggate.cli import installed

_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def report(traceback: str) -> str:
    """Put the versions of what took part before a traceback, from which secrets have been taken already."""
    return "\n".join([*_versions(), "", _without_places(traceback)])


def _versions() -> list[str]:
    contained = any(mark.exists() for mark in _CONTAINER_MARKS)
    return [
        f"raggate {__version__}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"{platform.system()} {platform.release()} {platform.machine()}, {'in' if contained else 'not in'} a container",
        ", ".join(f"{name} {version}" for name, version in installed.versions("label", "watch").items()),
    ]


def _without_places(text: str) -> str:
    """Write `.` for the working directory and `~` for the home directory, which name projects and people."""
    for place, sign in ((Path.cwd, "."), (Path.home, "~")):
        try:
            path = str(place())
        except (OSError, RuntimeError):
            continue
        if path != "/":
            text = text.replace(path, sign)
    return text
