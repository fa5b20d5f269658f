"""What a check rests on -> asked again whenever some of it changes, until somebody interrupts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from raggate.base.errors import RaggateError
from raggate.base.files import read_file
from raggate.config import schema
from raggate.config.schema import Config
from raggate.pipeline.request import Request

LOOK_S = 0.7
"""Seconds between two looks at all files. Editors and git write several, so that two looks have to be alike."""

SHOWN = 3
"""Changed files that a message names."""

_SKIPPED = frozenset((".git", ".hg", ".svn", ".raggate", ".venv", ".tox", ".idea", "node_modules", "__pycache__"))
_CACHES = ("_cache", ".swp", ".swx", "~")

Stamps = Mapping[str, tuple[int, int]]
"""By path: when a file was written last, and its size."""


class Watched(Struct, frozen=True, kw_only=True):
    """What a check rests on: single files, whole folders, and the folder of run directories, which is no part of it."""

    files: tuple[Path, ...]
    folders: tuple[Path, ...]
    out: Path

    def counts(self, path: str) -> bool:
        """Return whether a change of a path below the folders is one: not in a cache, a hidden folder or a run."""
        below = [Path(path).relative_to(folder) for folder in self.folders if Path(path).is_relative_to(folder)]
        hidden = all(not _SKIPPED.isdisjoint(place.parts) for place in below)
        return not (hidden or path.endswith(_CACHES) or Path(path).is_relative_to(self.out))

    def stamps(self) -> Stamps:
        """Look at every file."""
        paths = [*map(str, self.files), *(path for folder in self.folders for path in self._below(folder))]
        return {path: stamp for path in paths if (stamp := _stamp(path)) is not None}

    def _below(self, folder: Path) -> Iterator[str]:
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if self.counts(str(Path(place, name)))]
            yield from filter(self.counts, (str(Path(place, name)) for name in names))


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        state = Path(path).stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def changed(before: Stamps, after: Stamps) -> frozenset[str]:
    """Name the files that are new, gone or written since."""
    return frozenset(path for path in {*before, *after} if before.get(path) != after.get(path))


def watched(request: Request) -> Watched:
    """Return the files that a check rests on. For an unreadable configuration, that file alone."""
    root, config = request.root, request.root / request.config_name
    try:
        settings = request.overrides.apply(schema.load(read_file(config), request.config_name))
    except RaggateError:
        return Watched(files=(config,), folders=(), out=root / ".raggate")
    files = [config, root / settings.golden, request.baseline_file or root / settings.baseline_path]
    folders = dict.fromkeys((root / path).resolve() for path in (*settings.vault.values(), *_sources(settings)))
    out = request.runs()
    return Watched(
        files=tuple(path.resolve() for path in files), folders=tuple(filter(Path.is_dir, folders)), out=out.resolve()
    )


def _sources(settings: Config) -> Iterator[str]:
    api = settings.api
    if api.command is not None:
        yield api.command.cwd
    for container in api.containers().values():
        if container.build is not None:
            yield container.build.context


def watch(request: Request, check: Callable[[], None]) -> NoReturn:
    """Check, and again after every change, until somebody interrupts.

    The API is brought up anew each time, built from what is there then. `check` raises nothing but an interrupt.
    """
    own: frozenset[str] = frozenset()
    meanwhile: frozenset[str] = frozenset()
    while True:
        places = watched(request)
        before = places.stamps()
        check()
        after = places.stamps()
        again = changed(before, after) - own
        # what changes under every check is written by it, such as a program that is built beside its source
        own |= again & meanwhile
        meanwhile = again - own
        names = meanwhile
        if not meanwhile:
            request.say("waiting for changes, Ctrl-C ends")
            names = wait_for_change(places, after)
        shown = sorted({Path(path).name for path in names})
        more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
        request.say(f"{', '.join(shown[:SHOWN])}{more} changed: asking again")


def wait_for_change(places: Watched, since: Stamps) -> frozenset[str]:
    """Wait until a file of these was written, made or removed, and none was for a moment."""
    stamps = since
    while True:
        before, stamps = stamps, places.stamps()
        if stamps == before and stamps != since:
            return changed(since, stamps)
        time.sleep(LOOK_S)
