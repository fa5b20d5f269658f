"""Options that several commands of the gate have, and the kind of value that all of their files are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

PATH = click.Path(path_type=Path)
FORMAT_NAMES = ("junit", "sarif", "ctrf", "otel", "markdown", "json")
"""Of `raggate.reports.formats`, which is not loaded for the names alone; a test compares them."""


def reports() -> Callable[[Any], Any]:
    """Make the option that names files for reports; its parameter is `reports`."""
    meaning = f"Also write this report: {', '.join(FORMAT_NAMES)}. Repeatable."
    return click.option("--report", "reports", metavar="FORMAT=FILE", multiple=True, help=meaning)


def config(help: str = "The configuration file.") -> Callable[[Any], Any]:  # noqa: A002
    """Make the option that names the configuration; its parameter is `config_file`."""
    usual = Path("raggate.yml")
    # what a run is named by depends on it: see RunName
    return click.option(
        "--config", "-c", "config_file", type=PATH, default=usual, show_default=True, help=help, is_eager=True
    )
