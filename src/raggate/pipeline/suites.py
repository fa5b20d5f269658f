"""Several suites of one request: each is its own, one after another, and what is about one of them is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.inputs import suite_list
from raggate.inputs.suite_list import SuiteFile
from raggate.models.publication import RunFailure
from raggate.models.suites import SuiteOutcome
from raggate.pipeline import concern, report_files
from raggate.pipeline.report_files import Files
from raggate.pipeline.request import Request, RunFailed
from raggate.text.quote import cut, quoted

SUITE = "{suite}"
"""What stands for the name of a suite in the name of a report."""

_UNSAID = {
    int(ExitCode.INTERRUPTED): ("interrupted", "It was cancelled before there was a verdict."),
    int(ExitCode.INTERNAL): ("internal error", "raggate itself failed, which is a bug. The log has the details."),
}


def listed(request: Request, names: Sequence[str]) -> tuple[SuiteFile, ...]:
    """List the suites that paths and patterns name.

    Raises:
        UsageError: as `suite_list.find`.
    """
    merged = "HEAD" if request.in_job else None
    return suite_list.find(names, against=request.against, remote=request.remote, merged=merged)


def request_of(request: Request, suite: SuiteFile) -> Request:
    """Return what is asked of one suite of a list."""
    return replace(request, config_file=Path(suite.config), matched=suite.matched)


def refuse_single(given: Mapping[str, object], beside: str) -> None:
    """Refuse what is about one suite where there may be several.

    Raises:
        UsageError: naming the first of these that has a value.
    """
    name = next((name for name, value in given.items() if value), None)
    if name is not None:
        raise UsageError(
            f"{name} is for one suite: expected it not beside {beside}",
            hint="Name one configuration with it, or leave it out.",
        )


def reports_of(wanted: Sequence[str], suites: Sequence[SuiteFile], name: str) -> dict[str, Files]:
    """Return the files for the reports of each suite, by its name.

    Args:
        wanted: `FORMAT=FILE` texts, each with `{suite}` in it.
        name: what messages call where the texts stand.

    Raises:
        UsageError: for one without `{suite}`, which all suites would write, for suites whose files would be
            the same, and as `report_files.parsed`.
    """
    for text in wanted:
        if SUITE not in text:
            raise UsageError(
                f"{name}: {quoted(text)}: all suites would write this file",
                hint=f"Put {SUITE} where the name of the suite is to stand, as in junit=rag-{SUITE}.xml.",
            )
    slugs = {suite.suite: re.sub(r"[^A-Za-z0-9._-]+", "-", suite.suite) for suite in suites}
    if wanted and len(set(slugs.values())) < len(slugs):
        raise UsageError(f"{name}: two suites would write the same file", hint="Give each configuration a `suite:`.")
    return {
        suite: report_files.parsed([text.replace(SUITE, slug) for text in wanted], name)
        for suite, slug in slugs.items()
    }


def check_baseline(suite: str, file: str, others: Mapping[str, str]) -> None:
    """Refuse the baseline file of a suite that is another's, too.

    Raises:
        UsageError: naming both, and the file.
    """
    same = next((other for other, its in others.items() if its == file), None)
    if same is not None:
        raise UsageError(
            f"suites {same} and {suite} have the same baseline file: {cut(file)}",
            hint="Give each configuration a `suite:` of its own, or another `baseline:`.",
        )


def unconcerned(request: Request, suite: SuiteFile) -> SuiteOutcome | None:
    """Return the end of a suite that is not run, as nothing that concerns it changed; None where it is to be run."""
    return skipped(suite, concern.not_run(request), request.say)


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
    """Tell of a suite whose checks passed, and that has no verdict, as nothing was to be judged."""
    return SuiteOutcome(config=suite.config, suite=suite.suite, code=int(ExitCode.PASS), directory=directory)


def ended(suite: SuiteFile, code: int, error: RaggateError | None) -> SuiteOutcome:
    """Tell of a suite without a verdict: with the error that ended it, or what its exit code says."""
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
