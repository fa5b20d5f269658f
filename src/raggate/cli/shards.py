"""The commands `plan` and `merge`, and `run --shard`: a run in parts, asked beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from raggate.cli import console, options
from raggate.cli.options import PATH, request_of
from raggate.errors import UsageError
from raggate.models.answer import Answer
from raggate.text.escape import log_line
from raggate.text.numbers import counted

if TYPE_CHECKING:
    from raggate.cli.answers import Merged, Planned, ShardAsked
    from raggate.pipeline.request import Request

PLAN = Path("plan.json")


@click.command()
@options.config()
@options.API
@options.AGAINST
@click.option("--shards", type=click.IntRange(1, 10_000), required=True, metavar="N", help="How many shards.")
@click.option(
    "--by",
    type=click.Choice(["hash", "latency"]),
    default="hash",
    show_default=True,
    help="Deal questions by a hash of their ids, or the slowest of the newest stored run first.",
)
@click.option("--out", type=PATH, default=PLAN, show_default=True, help="The file to write.")
def plan(*, shards: int, by: str, out: Path, **flags: Any) -> Answer[Planned]:
    """Deal the questions to N shards, and write the plan that they follow.

    Give all steps the same flags: plan, `run --plan plan.json --shard i/n` for each shard, `merge`, `check --run`.
    """
    from raggate.cli.answers import Planned
    from raggate.pipeline.shards import planning

    made = planning.plan_of(request_of(**flags), shards, by_latency=by == "latency")
    planning.write(out, made)
    sizes = sorted(map(len, made.shards))
    click.echo(
        log_line(
            f"{console.short_path(out)}: {counted(sum(sizes), 'question')} in {counted(shards, 'shard')} "
            f"of {' to '.join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))}"
        )
    )
    return Answer(Planned(plan=out, hash=made.hash, by=made.by, shards=tuple(map(len, made.shards))))


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=PATH)
@options.config()
@options.API
@options.AGAINST
@options.OUT
@options.FULL_TEXT
@click.option("--plan", "plan_file", type=PATH, help="The plan. Default: the one by hash, made again.")
def merge(directories: tuple[Path, ...], *, plan_file: Path | None, **flags: Any) -> Answer[Merged]:
    """Merge the directories of all shards into one run.

    The run is the one that one process would have written.
    A shard that is missing, doubled, half, changed, or of another plan or index is named, and nothing is merged.
    """
    from raggate.cli.answers import Merged
    from raggate.pipeline.shards import merge as pipeline

    merged = pipeline.merge(request_of(**flags), directories, plan_file)
    shown = console.show_run(merged.result).result
    return Answer(Merged(**asdict(shown), shards=len(merged.shards), left_out=merged.left_out))


def run_shard(request: Request, plan_file: Path, flag: str | None) -> Answer[ShardAsked]:
    """Ask the questions of one shard, which the flag or the environment names, and print where its answers are."""
    from raggate.cli.answers import ShardAsked
    from raggate.models.golden import EVERYTHING
    from raggate.pipeline.shards import numbers, planning, running

    if request.choice != EVERYTHING:
        raise UsageError(
            f"{request.choice.words}: a plan deals all questions", hint="Leave --plan out to ask a part of them."
        )
    shard = numbers.shard_of(flag, request.environment, len(planning.read(plan_file).shards))
    result = running.run(request, plan_file, shard, numbers.attempt_of(request.environment))
    click.echo(log_line(str(console.short_path(result.directory))))
    running.refuse_stopped(result)
    receipt = result.receipt
    return Answer(
        ShardAsked(
            shard_directory=result.directory,
            plan=receipt.plan,
            shard=receipt.shard,
            of=receipt.of,
            attempt=receipt.attempt,
            counts=receipt.counts,
        )
    )
