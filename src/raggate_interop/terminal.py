"""What the commands of other systems have in common: options, what they say, and where they do not write."""

from __future__ import annotations

from pathlib import Path

import click

from raggate.base.errors import UsageError
from raggate.base.escape import log_line
from raggate.cli.options import DIRECTORY

OUT = click.option("--out", type=DIRECTORY, required=True, help="Where the run directory goes; it must not exist.")
SUITE = click.option(
    "--suite", default="default", show_default=True, help="The suite whose baseline it is compared with."
)
MODE = click.option("--mode", help="Which retrieval mode; needed when the run has several.")


def warn(text: str) -> None:
    """Say something beside the output of a command, in one harmless line."""
    click.echo(log_line(f"raggate: {text}", limit=600), err=True)


def refuse_existing(out: Path) -> None:
    """Refuse a directory for output that exists already; an empty one is taken."""
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise UsageError(f"--out: {out} exists and is not empty")
