"""A traceback -> a report that can be pasted into an issue: versions first, and nobody's paths."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from raggate import __version__

_LIBRARIES = ("click", "docker", "httpx", "markdown-it-py", "orjson", "pydantic", "PyYAML", "rich")
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
        ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES),
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


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
