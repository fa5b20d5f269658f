"""Every option of every command that takes a number with a fraction refuses what is no finite number."""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.testing import CliRunner

from raggate.cli.main import cli
from tables import each_row


def fractions(command: click.Command, *words: str) -> Iterator[tuple[str, ...]]:
    """Yield the words that lead to each option that takes a number with a fraction, the option last."""
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from fractions(child, *words, name)
    for parameter in command.params:
        if isinstance(parameter.type, click.types.FloatParamType):
            yield (*words, parameter.opts[0])


cli.loaded()
OPTIONS = list(fractions(cli))


@each_row("text", ["nan", "NaN", "-nan", "inf", "-inf", "1e999"])
@each_row("words", OPTIONS, ids=" ".join)
def test_not_a_number_is_refused(words: tuple[str, ...], text: str) -> None:
    """A limit that is no finite number ends with 2 and names the option, before anything is read."""
    done = CliRunner().invoke(cli, [*words[:-1], f"{words[-1]}={text}"])
    assert done.exit_code == 2
    assert words[-1] in done.output
    assert "Invalid value" in done.output
