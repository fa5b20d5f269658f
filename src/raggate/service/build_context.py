"""What judges an API, and lies where its image is built or in a vault: who is given it can answer from memory."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from raggate.config.service_settings import Api

HISTORY = ".git/objects"
"""The directory with every file ever committed, including those that judge."""

MAX_BYTES = 64 << 10
"""No more of it is read."""


def exposed(api: Api, root: Path, judging: Sequence[str]) -> tuple[str, ...]:
    """Name what judges and what the engine is handed to build an image of the API or of a service from.

    The commits of the repository are named too, as they hold it. `judging` are golden sets and baselines.
    """
    builds = (part.build for part in api.containers().values())
    contexts = dict.fromkeys(posixpath.normpath(build.context) for build in builds if build is not None)
    files = [path for path in dict.fromkeys(judging) if (root / path).is_file()]
    files += [HISTORY] if (root / HISTORY).is_dir() else []
    return tuple(path for path in files if any(_sent(root, context, path) for context in contexts))


def in_vaults(
    api: Api, places: Mapping[str, str], directories: Mapping[str, Path], judging: Sequence[str]
) -> tuple[str, ...]:
    """Name judging files in a vault that the API's container gets a copy of; `places` are relative, as `judging` is."""

    def copied(path: str) -> bool:
        inner = {name: posixpath.relpath(path, place) for name, place in places.items()}
        return any(not at.startswith("../") and (directories[name] / at).exists() for name, at in inner.items())

    return () if api.container is None else tuple(filter(copied, dict.fromkeys((*judging, HISTORY))))


def _sent(root: Path, context: str, path: str) -> bool:
    from docker.utils.build import PatternMatcher

    inner = posixpath.relpath(posixpath.normpath(path), context)
    if inner.startswith("../"):
        return False
    matcher = PatternMatcher(patterns(root / context))

    def skipped(folder: PurePosixPath) -> bool:
        # the library does not look into it, unless a pattern takes something in it back
        name = folder.as_posix()
        taken_back = any(pattern.exclusion and pattern.cleaned_pattern.startswith(name) for pattern in matcher.patterns)
        return matcher.matches(name) and not taken_back

    folders = [*PurePosixPath(inner).parents][:-1]
    if (root / path).is_dir():
        folders.append(PurePosixPath(inner))
    elif matcher.matches(inner):
        return False
    return not any(map(skipped, folders))


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
