"""The command `raggate prove`: known faults, and which of them the gate catches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.base.escape import log_line
from raggate.base.jsonio import loads
from raggate.cli import options
from raggate.frontends import console, output
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import Proved


@click.command()
@options.config()
@click.option(
    "--runs", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Judge so many runs without a fault."
)
@click.pass_obj
def prove(environment: dict[str, str], /, config_file: Path, runs: int) -> Answer[Proved]:
    """Try known faults: which the gate catches, and which it misses."""
    from raggate.frontends.answers import Proved
    from raggate.prove import proof
    from raggate.reports import proof as report
    from raggate.reports.proof import EXIT_CODES

    request = options.request_of(config_file)
    directory, result = proof.prove(request, runs)
    click.echo(
        report.render_terminal(result, width=max(console.width(), 60), color=output.coloured(environment)), color=True
    )
    click.echo(f"report:  {log_line(str(console.short_path(directory / 'proof.md')))}")
    proved = Proved(directory=directory, proof=loads(report.render_json(result)))
    return Answer(proved, int(EXIT_CODES[result.outcome]))
