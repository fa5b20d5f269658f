"""The command `merge`, and `run --shard`: a run in parts, asked beside each other."""

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

if TYPE_CHECKING:
    from raggate.cli.answers import Merged, ShardAsked
    from raggate.pipeline.request import Request


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=PATH)
@options.config()
@options.API
@options.AGAINST
@options.OUT
@options.FULL_TEXT
def merge(directories: tuple[Path, ...], **flags: Any) -> Answer[Merged]:
    """Merge the directories of all shards into one run.

    The run is the one that one process would have written. Give the same flags as to `run --shard`.
    If a shard is missing, doubled, half, or asked by other means, it is named and nothing is merged.
    """
    from raggate.cli.answers import Merged
    from raggate.pipeline import shards

    merged = shards.merge(request_of(**flags), directories)
    shown = console.show_run(merged.result).result
    return Answer(Merged(**asdict(shown), shards=merged.shards, left_out=merged.left_out))


def run_shard(request: Request, written: str | None, of: int | None) -> Answer[ShardAsked]:
    """Ask the questions of one shard, which is written or named by the environment, and print where its answers are."""
    from raggate.cli.answers import ShardAsked
    from raggate.pipeline import shards

    if written is None:
        shard = shards.shard_of(of or 1, request.environment)
    else:
        shard = shards.written_shard(written, "--shard")
    if of not in {None, shard.of}:
        raise UsageError(f"--shard says that there are {shard.of} shards, and --shards {of}", hint="Remove --shards.")
    asked = shards.run(request, shard)
    click.echo(log_line(str(console.short_path(asked.directory))))
    asked.refuse_stopped()
    return Answer(
        ShardAsked(
            shard_directory=asked.directory,
            shard=shard.number,
            of=shard.of,
            answered=asked.answered,
            failed=asked.failed,
        )
    )
