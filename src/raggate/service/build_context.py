"""What judges an API, and lies where the API's image is built: an image that carries it can answer from memory."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from pathlib import Path

from raggate.config.service_settings import Api
from raggate.service import dockerignore


def exposed(api: Api, root: Path, judging: Sequence[str]) -> tuple[str, ...]:
    """Name the files that judge and that the engine is handed to build an image of the API or of a service from.

    Args:
        api: how the API comes up; an image that is only named says nothing of what it was built from.
        root: directory of the configuration.
        judging: golden sets and baselines, relative to it.
    """
    builds = (part.build for part in api.containers().values())
    contexts = dict.fromkeys(posixpath.normpath(build.context) for build in builds if build is not None)
    files = (path for path in dict.fromkeys(judging) if (root / path).is_file())
    return tuple(path for path in files if any(_sent(root, context, path) for context in contexts))


def _sent(root: Path, context: str, path: str) -> bool:
    from docker.utils.build import PatternMatcher

    inner = posixpath.relpath(posixpath.normpath(path), context)
    return not inner.startswith("../") and not PatternMatcher(dockerignore.patterns(root / context)).matches(inner)
