"""The command `raggate judge`: the answers of a stored run, graded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from raggate.cli import console, options
from raggate.cli.options import PATH
from raggate.text.escape import log_line


@click.command()
@click.option("--run", "directory", type=PATH, required=True, help="The run directory whose answers are judged.")
@options.config("The configuration whose section `judges` counts.")
@click.option("--judge-model", "model", metavar="MODEL", help="Judge by this model alone.")
@click.option("--judge-base-url", "base_url", metavar="URL", help="Where its server is.")
@click.option("--judge-build", "build", metavar="BUILD", help="Its immutable version, where the name holds none.")
@click.option("--allow-unpinned", is_flag=True, help="Take it without an immutable version.")
@click.option("--mode", type=click.Choice(["auto", "replay", "refresh"]), help="Where replies come from.")
@click.option("--spot-check", is_flag=True, help="Judge a sample once more, as configured or in other words.")
@click.option(
    "--spot-check-n", type=click.IntRange(1, 1000), metavar="N", help="Of how many answers; 20 unless configured."
)
@click.pass_obj
def judge(environment: dict[str, str], /, directory: Path, config_file: Path, **instead: Any) -> None:
    """Judge the answers of a stored run again, and rewrite its results and metrics.

    Its verdict is removed, as it was decided by other judgements; `raggate compare` decides anew.
    """
    from raggate.config.judge_overrides import JudgeOverrides
    from raggate.interop.systems import SYSTEMS
    from raggate.pipeline import rejudge
    from raggate.text.numbers import written

    overrides = JudgeOverrides(**instead)
    for mode, name, value in rejudge.judge_directory(
        directory, config_file, overrides, environment, console.say, SYSTEMS
    ):
        click.echo(f"{log_line(mode)}  {name:32} {written(value.value):>7}  n={value.n}")
