"""The options that choose questions, of `check` and `run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from raggate.models.golden import Choice

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "-k",
        "matching",
        metavar="EXPR",
        help="Ask only questions that fit words with and, or, not and parentheses: in id, question, tags or category.",
    ),
    click.option("--case", "cases", metavar="ID", multiple=True, help="Ask only this question. Repeatable."),
    click.option(
        "--slice",
        "slices",
        metavar="NAME=VALUE",
        multiple=True,
        help="Ask only this slice: difficulty=hard, or tag=money. Repeatable.",
    ),
    click.option("--failed", is_flag=True, help="Ask only what was broken when it was last asked."),
    click.option(
        "--limit", type=click.IntRange(1), help="Ask at most so many of them, in the order of the golden set."
    ),
)
_NAMES = ("matching", "cases", "slices", "failed", "limit")


def options(function: Any) -> Any:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def taken(flags: dict[str, Any]) -> Choice:
    """Take the values of the options out of those of a command."""
    from raggate.models.golden import Choice

    given: Mapping[str, Any] = {name: flags.pop(name) for name in _NAMES}
    return Choice(**given)
