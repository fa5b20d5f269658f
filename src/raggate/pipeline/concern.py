"""Whether a change concerns a suite: what git has at the paths that the trusted configuration names, on both sides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping

from raggate.config import schema
from raggate.config.schema import Config
from raggate.errors import RaggateError
from raggate.inputs import sources
from raggate.inputs.git_objects import LINK
from raggate.pipeline.request import Request
from raggate.text.quote import cut

_SHOWN = 5


def not_run(request: Request, *, checked_out: bool = True) -> str:
    """Return why a suite is not run: nothing that concerns it changed. Empty where it is to be run.

    It is to be run wherever that is not certain: without a revision to compare with, without `when.paths`, and where
    either side cannot be read. A file that is deleted has changed, and one that is renamed has on both sides.

    Args:
        checked_out: whether what is tested is in the checkout and the working tree; else `request.head` is all of it.
    """
    if request.against is None or not (checked_out or request.head):
        return ""
    try:
        with sources.at(request.root, request.against, request.remote) as base:
            stored = schema.load(base.read(request.config_name), base.describe(request.config_name))
            # an image can be built from another directory than the configured one
            settings = request.overrides.apply(stored)
            if not settings.when.paths or not _same(request, base, settings, checked_out=checked_out):
                return ""
            return f"nothing under {_named(base, settings)} differs from {base.commit or ''!s:.12}"
    except (RaggateError, OSError):
        # the check itself says what is wrong
        return ""


def _same(request: Request, base: sources.Source, settings: Config, *, checked_out: bool) -> bool:
    """Return whether commit under test, checkout and working tree have at all of these paths what the base has."""
    own = (request.config_name, *_own(settings))
    paths = (*own, *settings.when.paths)
    named = {path: base.identity(path) for path in (*paths, *_attributes(base, paths))}
    for revision in dict.fromkeys(filter(None, (request.head, "HEAD" if checked_out else None))):
        with sources.at(request.root, revision, request.remote) as tested:
            if {path: tested.identity(path) for path in named} != named:
                return False
    if any(named[path] is None for path in (settings.golden, *settings.vault.values())):
        return False
    unknown = next(_unknown(request, base, named, settings), None)
    if unknown is not None:
        request.say(f"when.paths: {unknown}, so every change runs suite {settings.suite}")
        return False
    # what was changed and not committed
    return not checked_out or not base.differing([*named])


def _own(settings: Config) -> Iterator[str]:
    """Name what the suite itself is made of."""
    yield from (settings.golden, settings.baseline_path, *settings.vault.values())
    judges = settings.judging
    if judges is not None:
        yield judges.cassette
        if judges.canary is not None:
            yield judges.canary.file
    yield from _of_the_api(settings)


def _of_the_api(settings: Config) -> Iterator[str]:
    """Name what the API is made of, as far as a configuration tells: it is read wherever links lead."""
    for part in settings.api.containers().values():
        if part.build is not None:
            yield part.build.context
    if settings.api.program is not None and settings.api.program.config is not None:
        yield settings.api.program.config


def _attributes(base: sources.Source, paths: Iterable[str]) -> Iterator[str]:
    """Name the files above these paths by which git checks them out with other line ends."""
    top = base.prefix or "."
    for path in paths:
        folder = posixpath.normpath(posixpath.join(base.prefix, path))
        while folder not in {"", "."} and not folder.startswith(".."):
            folder = posixpath.dirname(folder)
            yield posixpath.relpath(posixpath.join(folder, ".gitattributes"), top)


def _unknown(
    request: Request, base: sources.Source, named: Mapping[str, str | None], settings: Config
) -> Iterator[str]:
    """Yield where a change could be that ids of these paths do not show."""
    paths = settings.when.paths
    # an image holds the links in its directory, not what they lead to
    links = {path: path for path in _of_the_api(settings) if (named[path] or "").startswith(f"{LINK} ")}
    links |= {path: link for path in paths if (link := base.link_out(path)) is not None}
    for path in dict.fromkeys((*paths, *_of_the_api(settings))):
        # nor is there anything behind a link
        if named[path] is None:
            yield f"there is no {cut(path)}"
        if path in links:
            yield f"{cut(links[path])} is a link to elsewhere"
    # of a submodule the commit counts; what somebody edits in it by hand git does not tell here
    if request.remote is None and (inner := base.repositories([*named])):
        yield f"{cut(inner[0])} is a repository of its own"


def _named(base: sources.Source, settings: Config) -> str:
    paths = [posixpath.normpath(posixpath.join(base.prefix, path)) for path in settings.when.paths]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{', '.join(map(cut, paths[:_SHOWN]))}{more}"
