"""The command `raggate diff`: two builds asked the same questions, one held against the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from raggate.cli import choosing, console, options
from raggate.cli.requests import request_of
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.cli.results.measuring import Compared


@click.command()
@click.argument("base")
@click.argument("head", default=".")
@options.gate("config", "out")
@choosing.options
@click.pass_obj
def diff(environment: dict[str, str], /, base: str, head: str, **flags: Any) -> Answer[Compared]:
    """Ask two builds the same questions, and say what HEAD does worse and better than BASE.

    Each is a git revision, an image, an address, a run directory (a path, `latest`, or the beginning of a name), or `.`
    for the working tree, which HEAD is by default. Questions, notes, settings and gate are those of the working tree.
    The exit code is that of `check` with BASE in place of the baseline. It is no gate: a change can edit its own
    questions; `check --against` is one.
    """
    from raggate.cli.results.measuring import Compared
    from raggate.pipeline import side_by_side
    from raggate.reports import diff as report

    both = side_by_side.diff(request_of(choosing.taken(flags), **flags), base, head)
    click.echo(report.render_terminal(both, width=max(console.width(), 60)))
    folder = both.head.directory / side_by_side.FOLDER
    console.show_review(both.review, both.head.directory, environment, reports=folder)
    return Answer(Compared(run_directory=folder, **asdict(report.document(both))), int(both.review.verdict.exit_code))
