"""Commands that take options alone: a word that stands bare was meant for one of these, and is told which."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from raggate.errors import UsageError
from raggate.text.quote import cut, quoted

_MEANINGS = (
    ("--api-url", "An address", lambda text: text.startswith(("http://", "https://"))),
    ("--config", "A configuration", lambda text: text.endswith((".yml", ".yaml"))),
    ("--question", "A question", lambda _: True),
)
"""By which option a command takes such a word, the first that fits: its name, what it takes, and whether it fits."""


class OptionsOnly(click.Command):
    """A command without arguments. Words that belong to no option are refused with the call that was meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            UsageError: for words that belong to no option.
        """
        # click would refuse them itself, without a word on what is right
        ctx.allow_extra_args = True
        words = super().parse_args(ctx, args)
        if words and not ctx.resilient_parsing:
            raise self._refusal(ctx.command_path, words)
        return words

    def _refusal(self, path: str, words: Sequence[str]) -> UsageError:
        text = cut(" ".join(words))
        hint = f"`{path} --help` lists the options."
        for option, what, fits in _MEANINGS:
            if fits(text) and any(option in known.opts for known in self.params):
                hint = f"{what} goes after {option}: `{path} {option} {shlex.quote(text)}`. {hint}"
                break
        name = path.partition(" ")[2] or path
        return UsageError(f"{name}: expected options alone, found {quoted(text)} that belongs to none", hint=hint)
