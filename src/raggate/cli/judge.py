"""The command `raggate judge`: the answers of a stored run, graded again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console, options
from raggate.cli.options_only import OptionsOnly
from raggate.errors import UsageError
from raggate.models.answer import Answer
from raggate.text.escape import log_line
from raggate.text.jsonio import loads
from raggate_interop.run_names import RUN

if TYPE_CHECKING:
    from raggate.cli.results.stored import BiasMeasured, CassettePruned, Judged
    from raggate.pipeline.rejudge import Rejudging

_BIAS_N = 50


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
@click.option(
    "--bias",
    is_flag=True,
    help="Measure what sways the judges instead: order, length, their own kind. Changes no score.",
)
@click.option(
    "--bias-n",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help=f"Largest number of answers; {_BIAS_N} by default.",
)
@click.option(
    "--answered-by",
    metavar="MODEL",
    help="The model that generated the answers, for --bias, if the run does not say.",
)
@click.pass_obj
def judge(
    environment: dict[str, str],
    /,
    *,
    directory: Path,
    config_file: Path,
    prune: bool,
    dry_run: bool,
    bias: bool,
    bias_n: int | None,
    answered_by: str | None,
    **instead: Any,
) -> Answer[Judged] | Answer[BiasMeasured] | Answer[CassettePruned]:
    """Judge the answers of a stored run again, and rewrite its results and metrics.

    Its verdict is removed, as it was decided by other judgements; `raggate compare` decides anew. With --bias the run
    stays as it is, and judge_bias.json is written beside it.
    """
    from raggate.cli.results.stored import Judged
    from raggate.config.judge_overrides import JudgeOverrides
    from raggate.pipeline import rejudge
    from raggate.scoring import figures
    from raggate_interop.systems import SYSTEMS

    alone = prune and not any((bias, bias_n, answered_by, *instead.values()))
    if not (prune or dry_run):
        _check_flags(bias=bias, bias_n=bias_n, answered_by=answered_by, **instead)
    asked = rejudge.Rejudging(
        directory=directory,
        config_file=config_file,
        instead=JudgeOverrides(**instead),
        environment=environment,
        say=console.say,
        systems=SYSTEMS,
    )
    if prune or dry_run:
        return _prune(asked, dry_run=dry_run, alone=alone)
    if bias:
        return _measure_bias(asked, bias_n or _BIAS_N, answered_by)
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


def _check_flags(*, bias: bool, bias_n: int | None, answered_by: str | None, **instead: Any) -> None:
    """Refuse flags that say nothing together.

    Raises:
        UsageError: naming them.
    """
    if not bias and (bias_n is not None or answered_by is not None):
        raise UsageError("--bias-n and --answered-by are about --bias, which is not asked for")
    if bias and (instead["spot_check"] or instead["spot_check_n"] is not None):
        raise UsageError(
            "--bias changes no score, and --spot-check goes with judging a run again", hint="Ask for one of them."
        )
    if answered_by is not None and not answered_by.strip():
        raise UsageError("--answered-by: expected the name of a model, found nothing")


def _measure_bias(asked: Rejudging, n: int, answered_by: str | None) -> Answer[BiasMeasured]:
    from raggate.cli.results.stored import BiasMeasured
    from raggate.pipeline.judge_bias import measure_bias
    from raggate.reports import judge_bias, judge_bias_file

    measured = measure_bias(asked, n=n, answered_by=answered_by)
    click.echo(judge_bias.render_terminal(measured), nl=False)
    return Answer(BiasMeasured(run_directory=asked.directory, bias=loads(judge_bias_file.render(measured))))
