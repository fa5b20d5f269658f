"""Whether a change concerns a suite: what git has at the paths that the trusted configuration names, on both sides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from raggate.config import schema
from raggate.config.schema import Config
from raggate.errors import RaggateError
from raggate.inputs import sources
from raggate.pipeline.request import Request
from raggate.text.quote import cut

_SHOWN = 5


def not_run(request: Request) -> str:
    """Say why a suite is not run: nothing that concerns it changed. Empty where it is to be run.

    It is to be run wherever that is not certain: without a revision to compare with, without `when.paths`, and where
    either side cannot be read. A file that is deleted has changed, and one that is renamed has on both sides.
    """
    if request.against is None:
        return ""
    try:
        with sources.at(request.root, request.against, request.remote) as base:
            settings = schema.load(base.read(request.config_name), base.describe(request.config_name))
            if not settings.when.paths or not _same(request, base, settings):
                return ""
            return f"nothing under {_named(base, settings)} differs from {base.commit or ''!s:.12}"
    except (RaggateError, FileNotFoundError):
        # the check itself says what is wrong
        return ""


def _same(request: Request, base: sources.Source, settings: Config) -> bool:
    """Say whether commit under test, checkout and working tree have at all of these paths what the base has."""
    own = (request.config_name, *_own(settings))
    named = {path: base.identity(path) for path in (*own, *settings.when.paths)}
    for revision in dict.fromkeys(filter(None, (request.head, "HEAD"))):
        with sources.at(request.root, revision, request.remote) as tested:
            now = {path: tested.identity(path) for path in named}
        missing = [path for path in settings.when.paths if named[path] is None and now[path] is None]
        if missing:
            request.say(f"when.paths: there is no {cut(missing[0])}, so every change runs suite {settings.suite}")
        if missing or now != named:
            return False
    # what was changed and not committed
    return not base.differing([*named])


def _own(settings: Config) -> Iterator[str]:
    """Name what the suite itself is made of."""
    yield from (settings.golden, settings.baseline_path, *settings.vault.values())
    judges = settings.judging
    if judges is not None:
        yield judges.cassette
        if judges.canary is not None:
            yield judges.canary.file
    if settings.api.container is not None and settings.api.container.build is not None:
        yield settings.api.container.build.context


def _named(base: sources.Source, settings: Config) -> str:
    paths = [posixpath.normpath(posixpath.join(base.prefix, path)) for path in settings.when.paths]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{', '.join(map(cut, paths[:_SHOWN]))}{more}"
