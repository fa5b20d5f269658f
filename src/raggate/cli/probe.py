"""The command `raggate probe`: one question, and what its answer filled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.cli import options
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import Probed


@click.command()
@options.config()
@options.API_URL
@click.option("--question", metavar="TEXT", help="The question. Default: the first of the golden set.")
def probe(config_file: Path, api_url: str | None, question: str | None) -> Answer[Probed]:
    """Ask the API one question, and show what its answer fills.

    No run directory and no baseline is written. Exit code 0: it can be measured, 2: usage error, 3: no answer that
    tells anything, 4: the answer breaks what must always hold.
    """
    from raggate.frontends.answers import Probed
    from raggate.pipeline.smoke_test import smoke_test
    from raggate.reports.smoke_test import render

    request = options.request_of(config_file, api_url=api_url)
    test = smoke_test(request, question)
    click.echo(render(test, width=max(console.width(), 60)), nl=False)
    probed = Probed(
        case_id=test.case.id,
        question=test.case.question,
        chunks=len(test.result.response.chunks) if test.result.response else 0,
        rank=test.rank,
        fields=test.fields,
        failure=test.result.failure,
        unknown=test.unknown,
        broken=test.broken,
        hints=test.hints,
    )
    return Answer(probed, int(test.exit_code))
