"""What the commands of other systems have in common: options, what they say, and what they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.base.errors import UsageError
from raggate.base.escape import log_line
from raggate.base.numbers import counted
from raggate.cli.options import DIRECTORY

if TYPE_CHECKING:
    from raggate.models.run import Run
    from raggate_interop.results import Written

FILE = click.Path(path_type=Path)
OUT = click.option("--out", type=DIRECTORY, required=True, help="Where the run directory goes; it must not exist.")
SUITE = click.option(
    "--suite", default="default", show_default=True, help="The suite whose baseline it is compared with."
)
MODE = click.option("--mode", help="Which retrieval mode; needed when the run has several.")


def warn(text: str) -> None:
    """Print a remark beside the output of a command, in one harmless line."""
    click.echo(log_line(f"raggate: {text}", limit=600), err=True)


def refuse_existing(out: Path) -> None:
    """Refuse a directory for output that exists already; an empty one is taken."""
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise UsageError(f"--out: {out} exists and is not empty")


def refuse_replacing(target: Path, *, force: bool) -> None:
    """Refuse a file that exists already."""
    if target.exists() and not force:
        raise UsageError(f"{target} exists already", hint="--force replaces it.")


def write_imported(run: Run, out: Path, suite: str) -> Written:
    """Write a run of another system as one of raggate."""
    from raggate.pipeline import run_directory
    from raggate_interop.results import Written

    refuse_existing(out)
    # a text that was cut there stays marked as cut
    run_directory.write(out, run_directory.of_suite(run, suite), full_text=True)
    following = f"raggate promote {out}, or raggate compare {out} --baseline FILE"
    click.echo(log_line(f"wrote {out}: {counted(len(run.results), 'result')}. Next: {following}"))
    return Written(path=out, entries=len(run.results))
