"""Several suites in one command: each is checked as if it were alone, and all of them are told at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.cli import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.cli.results.measuring import SuiteChecked, SuitesChecked
    from raggate.inputs.suite_list import SuiteFile
    from raggate.models.suites import SuiteOutcome
    from raggate.pipeline.request import Request


def check(
    request: Request, names: Sequence[str], reports: Sequence[str], *, watch: bool, stored: Path | None
) -> Answer[SuitesChecked]:
    """Check several suites, and give the exit code of the worst.

    Args:
        reports: `FORMAT=FILE` texts, each with `{suite}` in it.
        watch: whether `--watch` was given.
        stored: what `--run` names.

    Raises:
        UsageError: for a flag that is for one suite, and as `suites.listed`.
    """
    from raggate.pipeline import suites
    from raggate.reports import suites_terminal

    suites.refuse_single(_given(request, watch=watch, stored=stored), "several configurations")
    listed = suites.listed(request, names)
    files = suites.reports_of(reports, listed, "--report")

    def check_one(suite: SuiteFile) -> SuiteOutcome:
        own = suites.request_of(request, suite)

        def work() -> SuiteOutcome:
            return suites.unconcerned(own, suite) or console.check_suite(own, suite, files[suite.suite])

        return console.of_suite(suite, work, own.environment)

    outcomes = suites.check_each(listed, check_one, console.say)
    click.echo(f"\n{suites_terminal.render(outcomes)}")
    return _answer(outcomes)


def _given(request: Request, *, watch: bool, stored: Path | None) -> dict[str, object]:
    from raggate.models.selection import EVERYTHING

    return {
        "--suite": request.overrides.suite,
        "--baseline": request.baseline_file,
        "--watch": watch,
        "--run": stored,
        "--resume": request.resume,
        "a choice of questions": request.choice != EVERYTHING,
    }


def _answer(outcomes: Sequence[SuiteOutcome]) -> Answer[SuitesChecked]:
    from raggate.cli.results.measuring import SuitesChecked
    from raggate.models.suites import worst
    from raggate.reports.suites import overall

    checked = SuitesChecked(verdict=overall(outcomes), suites=tuple(map(_checked, outcomes)))
    return Answer(checked, worst(outcome.code for outcome in outcomes))


def _checked(outcome: SuiteOutcome) -> SuiteChecked:
    from raggate.cli.results.measuring import SuiteChecked
    from raggate.reports.public_verdict import verdict_of

    review, directory = outcome.review, outcome.directory
    return SuiteChecked(
        suite=outcome.suite,
        config=outcome.config,
        verdict=outcome.verdict,
        exit_code=outcome.code,
        headline=outcome.headline,
        run_directory=directory,
        result=None if review is None or directory is None else verdict_of(review, directory),
    )
