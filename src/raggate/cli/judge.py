"""The command `raggate judge`: the answers of a stored run, graded again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.base.escape import log_line
from raggate.base.jsonio import as_dict
from raggate.cli import options
from raggate.cli.options import RUN
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.config.judge_settings import JudgingMode
    from raggate.frontends.answers import Judged


@click.command()
@click.argument("directory", metavar="RUN", type=RUN)
@options.config("Use the section `judges` of this configuration.")
@click.option("--mode", type=click.Choice(["auto", "replay", "refresh"]), help="Where judges' replies come from.")
@click.option("--prune", is_flag=True, help="Drop replies from the cassette that this run does not use.")
@click.pass_obj
def judge(
    environment: dict[str, str], /, directory: Path, config_file: Path, mode: JudgingMode | None, *, prune: bool
) -> Answer[Judged]:
    """Judge the answers of a stored run again.

    Its results and metrics are rewritten. Its verdict is removed, because it was decided by other judgements: `raggate
    compare` decides anew.
    """
    from raggate.frontends.answers import Judged, MetricRow
    from raggate.pipeline import rejudge
    from raggate.scoring import figures

    values = rejudge.judge_directory(directory, config_file, mode, environment, console.say, prune=prune)
    for retriever, name, value in values:
        click.echo(f"{log_line(retriever)}  {name:32} {figures.value(name, value):>7}  n={value.n}")
    rows = tuple(MetricRow(mode=where, metric=name, **as_dict(value)) for where, name, value in values)
    return Answer(Judged(run_directory=directory, metrics=rows))
