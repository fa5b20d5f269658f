"""Options that the command lines of other systems share."""

from __future__ import annotations

import click

from raggate.cli.options import DIRECTORY

OUT = click.option("--out", type=DIRECTORY, required=True, help="Where the run directory goes; it must not exist.")
SUITE = click.option(
    "--suite", default="default", show_default=True, help="The suite whose baseline it is compared with."
)
MODE = click.option("--mode", help="Which retrieval mode; needed when the run has several.")
