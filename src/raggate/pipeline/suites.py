"""Several suites of one request: each is its own, one after another, and what is about one of them is refused."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from raggate.base.errors import ExitCode, RaggateError, UsageError
from raggate.base.quote import cut, quoted
from raggate.config import schema
from raggate.config.schema import Config
from raggate.inputs import sources, suite_list
from raggate.inputs.git_objects import LINK
from raggate.inputs.suite_list import SuiteFile
from raggate.models.publication import RunFailure
from raggate.models.suites import SuiteOutcome
from raggate.pipeline import report_files
from raggate.pipeline.report_files import Files
from raggate.pipeline.request import Request, RunFailed

SUITE = "{suite}"
"""What stands for the name of a suite in the name of a report."""

_UNSAID = {
    int(ExitCode.INTERRUPTED): ("interrupted", "It was cancelled before there was a verdict."),
    int(ExitCode.INTERNAL): ("internal error", "raggate itself failed, which is a bug. The log has the details."),
}


def listed(request: Request, names: Sequence[str]) -> tuple[SuiteFile, ...]:
    """List the suites that paths and patterns name."""
    merged = "HEAD" if request.in_job else None
    return suite_list.find(names, against=request.against, remote=request.remote, merged=merged)


def request_of(request: Request, suite: SuiteFile) -> Request:
    """Return what is asked of one suite of a list."""
    return replace(request, config_file=Path(suite.config), matched=suite.matched)


def refuse_single(given: Mapping[str, object], beside: str) -> None:
    """Refuse what is about one suite where there may be several."""
    name = next((name for name, value in given.items() if value), None)
    if name is not None:
        raise UsageError(
            f"{name} works with one configuration only, not with {beside}",
            hint="Name one configuration, or leave it out.",
        )


def reports_of(wanted: Sequence[str], suites: Sequence[SuiteFile], name: str) -> dict[str, Files]:
    """Return the files for the reports of each suite, by its name.

    Args:
        wanted: `FORMAT=FILE` texts, each with `{suite}` in it.
        name: what messages call where the texts stand.
    """
    for text in wanted:
        if SUITE not in text:
            raise UsageError(
                f"{name}: {quoted(text)}: all suites would write this file",
                hint=f"Put {SUITE} in place of the suite's name, as in junit=rag-{SUITE}.xml.",
            )
    slugs = {suite.suite: re.sub(r"[^A-Za-z0-9._-]+", "-", suite.suite) for suite in suites}
    if wanted and len(set(slugs.values())) < len(slugs):
        raise UsageError(f"{name}: two suites would write the same file", hint="Give each configuration a `suite:`.")
    return {
        suite: report_files.parsed([text.replace(SUITE, slug) for text in wanted], name)
        for suite, slug in slugs.items()
    }


def unconcerned(request: Request, suite: SuiteFile) -> SuiteOutcome | None:
    """Return the end of a suite that is not run, as nothing that concerns it changed; None where it is to be run."""
    return skipped(suite, not_run(request), request.say)


def skipped(suite: SuiteFile, why: str, say: Callable[[str], None]) -> SuiteOutcome | None:
    """Return the end of a suite that is not run, where there is a reason for that."""
    if not why:
        return None
    say(f"suite {suite.suite} is not run: {why}")
    return SuiteOutcome(config=suite.config, suite=suite.suite, code=int(ExitCode.PASS), not_run=why)


def check_each(
    suites: Sequence[SuiteFile], check: Callable[[SuiteFile], SuiteOutcome], say: Callable[[str], None]
) -> tuple[SuiteOutcome, ...]:
    """Check suites one after another. How one of them ends keeps none from being asked, but for a signal."""
    outcomes: list[SuiteOutcome] = []
    for place, suite in enumerate(suites, 1):
        if outcomes and outcomes[-1].code == ExitCode.INTERRUPTED:
            outcomes.append(ended(suite, int(ExitCode.INTERRUPTED), None))
            continue
        if len(suites) > 1:
            say(f"suite {suite.suite} ({suite.config}), {place} of {len(suites)}")
        outcomes.append(check(suite))
    return tuple(outcomes)


def passed(suite: SuiteFile, directory: Path | None = None) -> SuiteOutcome:
    """The outcome of a suite whose checks passed, without a verdict because nothing was judged."""
    return SuiteOutcome(config=suite.config, suite=suite.suite, code=int(ExitCode.PASS), directory=directory)


def ended(suite: SuiteFile, code: int, error: RaggateError | None) -> SuiteOutcome:
    """The outcome of a suite without a verdict: the error that ended it, or the meaning of its exit code."""
    failed = error if isinstance(error, RunFailed) else None
    # the run knows its suite even if the name could not be looked up
    name = (failed and failed.failure.suite) or suite.suite
    if error is None:
        label, sentence = _UNSAID.get(code, _UNSAID[ExitCode.INTERNAL])
        failure = RunFailure(label=label, exit_code=code, lines=(sentence,), suite=name)
    else:
        failure = RunFailure.of(error, name, failed.failure.waivers if failed else ())
    directory = failed.directory if failed else None
    return SuiteOutcome(config=suite.config, suite=name, code=code, failure=failure, directory=directory, error=error)


_SHOWN = 5


def not_run(request: Request, *, checked_out: bool = True) -> str:
    """Return why a suite is not run: nothing that concerns it changed. Empty where it is to be run.

    It is to be run wherever that is not certain: without a revision to compare with, without `paths`, and where either
    side cannot be read. `checked_out` says that the working tree is tested; else `request.head` is all of it.
    """
    if request.against is None or not (checked_out or request.head):
        return ""
    try:
        with sources.at(request.root, request.against, request.remote) as base:
            stored = schema.load(base.read(request.config_name), base.describe(request.config_name))
            # an image can be built from another directory than the configured one
            settings = request.overrides.apply(stored)
            if not settings.paths or not _same(request, base, settings, checked_out=checked_out):
                return ""
            paths = [posixpath.normpath(posixpath.join(base.prefix, path)) for path in settings.paths]
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            names = f"{', '.join(map(cut, paths[:_SHOWN]))}{more}"
            return f"nothing under {names} differs from {base.commit or ''!s:.12}"
    except (RaggateError, OSError):
        # the check itself says what is wrong
        return ""


def _same(request: Request, base: sources.Source, settings: Config, *, checked_out: bool) -> bool:
    own = (request.config_name, *settings.judged_by, *_of_the_api(settings))
    paths = (*own, *settings.paths)
    named = {path: base.identity(path) for path in (*paths, *_attributes(base, paths))}
    for revision in dict.fromkeys(filter(None, (request.head, "HEAD" if checked_out else None))):
        with sources.at(request.root, revision, request.remote) as tested:
            if {path: tested.identity(path) for path in named} != named:
                return False
    if any(named[path] is None for path in (settings.golden, *settings.vault.values())):
        return False
    unknown = next(_unknown(request, base, named, settings), None)
    if unknown is not None:
        request.say(f"paths: {unknown}, so every change runs suite {settings.suite}")
        return False
    # what was changed and not committed
    return not checked_out or not base.differing([*named])


def _of_the_api(settings: Config) -> Iterator[str]:
    """Name what the API is made of, as far as a configuration tells: it is read wherever links lead."""
    for part in settings.api.containers().values():
        if part.build is not None:
            yield part.build.context


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
    paths = settings.paths
    # an image holds the links in its directory, not what they lead to
    links = {path: path for path in _of_the_api(settings) if (named[path] or "").startswith(f"{LINK} ")}
    links |= {path: link for path in paths if (link := base.link_out(path)) is not None}
    for path in dict.fromkeys((*paths, *_of_the_api(settings))):
        # nor is there anything behind a link
        if named[path] is None:
            yield f"there is no {cut(path)}"
        if path in links:
            yield f"{cut(links[path])} is a link that leads elsewhere"
    # of a submodule the commit counts; what somebody edits in it by hand git does not tell here
    if request.remote is None and (inner := base.repositories([*named])):
        yield f"{cut(inner[0])} is a repository of its own"
