"""The command `raggate judge`: the answers of a stored run, graded again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console, options
from raggate.cli.options_only import OptionsOnly
from raggate.cli.run_names import RUN
from raggate.errors import UsageError
from raggate.models.answer import Answer
from raggate.text.escape import log_line

if TYPE_CHECKING:
    from raggate.cli.results.stored import CassettePruned, Judged
    from raggate.pipeline.rejudge import Rejudging


@click.command(cls=OptionsOnly)
@click.option("--run", "directory", metavar="RUN", type=RUN, required=True, help="The run whose answers are judged.")
@options.config("The configuration whose section `judges` counts.")
@click.option("--judge-model", "model", metavar="MODEL", help="Judge by this model alone.")
@click.option("--judge-base-url", "base_url", metavar="URL", help="Where its server is.")
@click.option("--judge-build", "build", metavar="BUILD", help="Its immutable version, if the name contains none.")
@click.option("--judge-answers-as", "answers_as", metavar="NAME", help="The name its server uses, if it differs.")
@click.option("--allow-unpinned", is_flag=True, help="Take it without an immutable version.")
@click.option("--mode", type=click.Choice(["auto", "replay", "refresh"]), help="Where replies come from.")
@click.option("--spot-check", is_flag=True, help="Judge a sample once more, as configured or in other words.")
@click.option(
    "--spot-check-n", type=click.IntRange(1, 1000), metavar="N", help="Of how many answers; 20 unless configured."
)
@click.option(
    "--prune", is_flag=True, help="Drop from the cassette what judging this run does not take; judge nothing."
)
@click.option("--dry-run", is_flag=True, help="With --prune: say how many replies that are, and write nothing.")
@click.pass_obj
def judge(
    environment: dict[str, str],
    /,
    *,
    directory: Path,
    config_file: Path,
    prune: bool,
    dry_run: bool,
    **instead: Any,
) -> Answer[Judged] | Answer[CassettePruned]:
    """Judge the answers of a stored run again, and rewrite its results and metrics.

    Its verdict is removed, because it was decided by other judgements. `raggate compare` decides anew.
    """
    from raggate.cli.results.stored import Judged
    from raggate.config.overrides import JudgeOverrides
    from raggate.pipeline import rejudge
    from raggate.scoring import figures

    alone = prune and not any(instead.values())
    asked = rejudge.Rejudging(
        directory=directory,
        config_file=config_file,
        instead=JudgeOverrides(**instead),
        environment=environment,
        say=console.say,
    )
    if prune or dry_run:
        return _prune(asked, dry_run=dry_run, alone=alone)
    values = rejudge.judge_directory(asked)
    for mode, name, value in values:
        click.echo(f"{log_line(mode)}  {name:32} {figures.value(name, value):>7}  n={value.n}")
    return Answer(Judged(run_directory=directory, metrics=console.metrics_of(values)))


def _prune(asked: Rejudging, *, dry_run: bool, alone: bool) -> Answer[CassettePruned]:
    """Drop replies that a run does not take; `alone` says that --prune is the only thing that is wanted."""
    from raggate.cli.results.stored import CassettePruned
    from raggate.pipeline import rejudge

    if not alone:
        raise UsageError("--prune judges nothing, so it takes no flag about judges, and --dry-run is about --prune")
    cassette, dropped, kept = rejudge.prune_cassette(asked, dry_run=dry_run)
    done = "would be dropped" if dry_run else "dropped"
    click.echo(f"{log_line(str(cassette))}: {dropped} {'reply' if dropped == 1 else 'replies'} {done}, {kept} kept")
    return Answer(CassettePruned(cassette=cassette, dropped=dropped, kept=kept, written=not dry_run))
