"""The command `raggate lint`: what is wrong with the inputs and what they can show, before anything is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from raggate import __version__
from raggate.cli import options, output
from raggate.errors import ExitCode, RaggateError
from raggate.models.answer import Answer
from raggate.models.lint import CHECKS
from raggate.text.escape import log_line

if TYPE_CHECKING:
    from raggate.models.lint import LintDocument, LintReport
    from raggate.pipeline.request import Request

IGNORABLE = tuple(name for name, check in CHECKS.items() if check.severity != "error")
SHOWN_ANNOTATIONS = 10
"""Of each level; the runner shows no more of a step."""


@click.command()
@options.config()
@click.option("--against", metavar="REF", help="Check the files of this git revision, not the working tree.")
@options.choice(
    "--format", "text", "github", "sarif", name="form", help="For people, a workflow log, or code scanning."
)
@click.option("--strict", is_flag=True, help="Exit with 2 for warnings too.")
@click.option(
    "--ignore",
    type=click.Choice(IGNORABLE),
    multiple=True,
    metavar="CHECK",
    help="Skip this check; errors cannot be skipped.",
)
def lint(
    config_file: Path, against: str | None, form: str, ignore: tuple[str, ...], *, strict: bool
) -> Answer[LintDocument]:
    """Check questions, notes and settings, without starting the API.

    Exits with 2 when there are errors; with --strict, for warnings too. docs/lint.md lists the checks.
    """
    from raggate.reports.lint import all_findings, document

    request = options.request_of(config_file, against=against)
    report = replace(_checked(request, raising=form == "text" and not output.as_json()), ignored=frozenset(ignore))
    click.echo(_rendered(report, form), nl=False)
    severities = {finding.severity for finding in all_findings(report)}
    failed = severities & {"error", *(["warning"] if strict else [])}
    return Answer(document(report), int(ExitCode.USAGE if failed else ExitCode.PASS))


def _checked(request: Request, *, raising: bool) -> LintReport:
    """Check, and make findings of inputs that cannot be used, unless that is told as every command tells it."""
    from raggate.pipeline import lint as pipeline

    try:
        return pipeline.lint(request)
    except RaggateError as error:
        if raising:
            raise
        return pipeline.refused(request, error)


def _rendered(report: LintReport, form: str) -> str:
    from raggate.reports import lint as reports, sarif

    if form == "sarif":
        return sarif.render_findings(reports.all_findings(report), __version__)
    return reports.render(report) if form == "text" else _commands(report)


def _commands(report: LintReport) -> str:
    """Write the findings as commands to the runner, which make annotations of them."""
    from raggate.github.runner.commands import annotation
    from raggate.reports.lint import about, all_findings
    from raggate.text.numbers import counted

    count: Counter[str] = Counter()
    lines = []
    for finding in all_findings(report):
        count[finding.severity] += 1
        if count[finding.severity] <= SHOWN_ANNOTATIONS:
            level = "notice" if finding.severity == "note" else finding.severity
            message = f"{log_line(about(finding), limit=1000)}. {CHECKS[finding.check].remedy}"
            path = log_line(finding.path, limit=1000)
            lines.append(annotation(level, f"raggate lint: {finding.check}", message, path=path, line=finding.line))
    left = sum(max(number - SHOWN_ANNOTATIONS, 0) for number in count.values())
    lines += [f"raggate: {counted(left, 'more finding')}; --json has all of them"] if left else []
    return "".join(f"{line}\n" for line in lines)
