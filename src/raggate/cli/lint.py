"""The command `raggate lint`: what is wrong with the inputs and what they can show, before anything is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from raggate import __version__
from raggate.base.errors import ExitCode, RaggateError
from raggate.cli import options
from raggate.frontends import output
from raggate.models.answer import Answer
from raggate.models.lint import CHECKS

if TYPE_CHECKING:
    from raggate.models.lint import LintDocument, LintReport
    from raggate.pipeline.request import Request

IGNORABLE = tuple(name for name, check in CHECKS.items() if check.severity != "error")


@click.command()
@options.config()
@click.option("--against", metavar="REF", help="Check the files of this git revision, not the working tree.")
@options.choice("--format", "text", "sarif", name="form", help="text for people, sarif for code scanning.")
@click.option("--strict", is_flag=True, help="Exit with 2 for warnings too.")
@click.option(
    "--ignore", type=click.Choice(IGNORABLE), multiple=True, metavar="CHECK", help="Skip this check, but no error."
)
def lint(
    config_file: Path, against: str | None, form: str, ignore: tuple[str, ...], *, strict: bool
) -> Answer[LintDocument]:
    """Check questions, notes and settings, without starting the API.

    Exits with 2 when there are errors; with --strict, for warnings too. docs/lint.md lists the checks.
    """
    from raggate.reports import lint as reports, sarif

    request = options.request_of(config_file, against=against)
    report = replace(_checked(request, raising=form == "text" and not output.as_json()), ignored=frozenset(ignore))
    findings = reports.all_findings(report)
    click.echo(reports.render(report) if form == "text" else sarif.render_findings(findings, __version__), nl=False)
    severities = {finding.severity for finding in findings}
    failed = severities & {"error", *(["warning"] if strict else [])}
    return Answer(reports.document(report), int(ExitCode.USAGE if failed else ExitCode.PASS))


def _checked(request: Request, *, raising: bool) -> LintReport:
    """Check, and turn unusable inputs into findings, unless `raising`, as other commands do."""
    from raggate.pipeline import lint as pipeline

    try:
        return pipeline.lint(request)
    except RaggateError as error:
        if raising:
            raise
        return pipeline.refused(request, error)
