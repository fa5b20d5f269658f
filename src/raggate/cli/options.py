"""Options that several commands of the gate have, and the kind of value that all of their files are."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

PATH = click.Path(path_type=Path)
DIRECTORY = click.Path(path_type=Path, file_okay=False)
FORMAT_NAMES = ("junit", "sarif", "markdown", "json")
"""Of `raggate.reports.formats`, which is not loaded for the names alone; a test compares them."""


API = ("api-image", "api-build", "api-url")
"""The options that say what API is asked."""


class FiniteRange(click.FloatRange):
    """A range of numbers that also refuses `nan` and the infinities.

    Every comparison with `nan` is false, so that click's own range lets it pass, and a limit of it would limit nothing.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; click ends with exit code 2 when it is none, not finite or out of the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def choice(flag: str, *values: str, help: str, name: str = "", default: str = "") -> Callable[[Any], Any]:  # noqa: A002
    """Make an option of a few values, of which the first is the default unless named; `name` is its parameter's."""
    names, usual = (flag, name) if name else (flag,), default or values[0]
    return click.option(*names, type=click.Choice(values), default=usual, show_default=True, help=help)


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


def configs() -> Callable[[Any], Any]:
    """Make the option that names one configuration or several; its parameter is `config_files`."""
    meaning = "The configuration file. Repeatable, and `*` is any text of a name: then each suite has its own verdict."
    return click.option(
        "--config",
        "-c",
        "config_files",
        multiple=True,
        default=("raggate.yml",),
        show_default=True,
        help=meaning,
        is_eager=True,
    )


def gate(*names: str) -> Callable[[Any], Any]:
    """Make the options of these names, which commands of the gate share."""
    by_name: dict[str, Callable[[Any], Any]] = {
        "config": config(),
        "configs": configs(),
        "against": click.option(
            "--against",
            metavar="REF",
            help="Read configuration, golden set, vault and baseline from this git revision, not the working tree.",
        ),
        "baseline": click.option(
            "--baseline",
            "baseline_file",
            type=PATH,
            help="Use this baseline file. With --against, a file of the checkout is read from that revision.",
        ),
        "out": click.option("--out", type=PATH, help="Write run directories here."),
        "full-text": click.option(
            "--store-full-text", "full_text", is_flag=True, help="Keep whole chunk texts in the run directory."
        ),
        "resume": click.option(
            "--resume", type=PATH, metavar="DIR", help="Go on with a run that was killed: its directory, or name."
        ),
        "api-image": click.option("--api-image", metavar="IMAGE", help="Gate this container image of the API."),
        "api-build": click.option("--api-build", metavar="DIR", help="Build the API from this directory and gate it."),
        "api-url": click.option(
            "--api-url", metavar="URL", help="Gate an API that is already running at this address."
        ),
        "base-image": click.option(
            "--base-image",
            metavar="IMAGE",
            help="Confirm a regression against this image of the API before the change.",
        ),
    }

    def apply(function: Any) -> Any:
        for name in reversed(names):
            function = by_name[name](function)
        return function

    return apply
