"""What the command lines of other systems share: options, and a kind of value that click lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range of numbers that also refuses `nan` and the infinities.

    Every comparison with `nan` is false, so that click's own range lets it pass, and a limit of it would limit nothing.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Give the number; click ends with exit code 2 when it is none, not finite or out of the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def choice(flag: str, *values: str, help: str, name: str = "", default: str = "") -> Callable[[Any], Any]:  # noqa: A002
    """Make an option of a few values, of which the first is the default unless named; `name` is its parameter's."""
    names, usual = (flag, name) if name else (flag,), default or values[0]
    return click.option(*names, type=click.Choice(values), default=usual, show_default=True, help=help)


DIRECTORY = click.Path(path_type=Path, file_okay=False)
OUT = click.option("--out", type=DIRECTORY, required=True, help="Where the run directory goes; it must not exist.")
SUITE = click.option(
    "--suite", default="default", show_default=True, help="The suite whose baseline it is compared with."
)
MODE = click.option("--mode", help="Which retrieval mode; needed when the run has several.")
