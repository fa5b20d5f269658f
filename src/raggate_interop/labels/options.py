"""What the label commands share: their arguments and options, and how they write numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from raggate.cli.options import PATH, FiniteRange
from raggate.text.numbers import written

if TYPE_CHECKING:
    from raggate.labels.intervals import Sampling
    from raggate.labels.models import Interval

FILES = click.argument("files", nargs=-1, required=True, type=PATH)
CI = click.option(
    "--ci",
    "level",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
RESAMPLES = click.option(
    "--resamples",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="How many resamples a bootstrap draws.",
)
SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the bootstrap.")


def sampling(settings: dict[str, Any]) -> Sampling:
    """Take out of the settings of a command how intervals are drawn."""
    from raggate.labels.intervals import Sampling

    return Sampling(**{name: settings.pop(name) for name in ("level", "resamples", "seed")})


def number(value: float | None) -> str:
    """Write a value, or a dash as wide as one."""
    return f"{written(value):>6}"


def interval(ends: Interval | None) -> str:
    """Write the ends of an interval, as wide as any other."""
    return "[      –       ]" if ends is None else f"[{written(ends.lower)}, {written(ends.upper)}]"
