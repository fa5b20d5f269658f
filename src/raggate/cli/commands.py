"""The commands: where each stands, and the sections in which `raggate --help` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from raggate import plugins
from raggate.cli import output
from raggate.errors import UsageError

GATE = {
    "demo": "raggate.cli.demo",
    "init": "raggate.cli.init",
    "probe": "raggate.cli.probe",
    "golden": "raggate.cli.golden",
    "label": "raggate.cli.label",
    "lint": "raggate.cli.lint",
    "check": "raggate.cli.main",
    "diff": "raggate.cli.diff",
    "plan": "raggate.cli.shards",
    "run": "raggate.cli.main",
    "merge": "raggate.cli.shards",
    "calibrate": "raggate.cli.main",
    "judge": "raggate.cli.judge",
    "compare": "raggate.cli.main",
    "runs": "raggate.cli.runs",
    "promote": "raggate.cli.main",
    "baseline": "raggate.cli.baseline",
    "prove": "raggate.cli.prove",
}
"""The gate's own commands as they are met: set up, gate, look closer, promote; and the modules that they stand in."""


class Sections(click.Group):
    """A group whose help shows the gate's commands first, and those of other packages in a section of their own.

    Each is loaded when it is asked for.
    """

    def loaded(self) -> Mapping[str, click.Command]:
        """Load all commands, and give them by name."""
        for name in self.list_commands(None):
            self._load(name)
        return self.commands

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command. The message for one that is none names those that are spelled alike, of all."""
        if cmd_name in GATE or cmd_name in plugins.names(plugins.COMMANDS):
            self._load(cmd_name)
        elif hint := plugins.hint_for(plugins.COMMANDS):
            raise UsageError(f"no command {cmd_name!r}", hint=hint)
        else:
            self.loaded()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """Name the commands in the order of the help."""
        return [*GATE, *plugins.names(plugins.COMMANDS)]

    def sections(self, ctx: click.Context) -> dict[str, list[str]]:
        """Return the names of the commands by the title of their section."""
        return {"Commands": list(GATE), "Other systems": list(plugins.names(plugins.COMMANDS))}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, their columns as wide in one as in the other."""
        commands = self.loaded()
        width = max(len(name) for name in commands)
        for title, names in self.sections(ctx).items():
            if not names:
                continue
            rows = [(name.ljust(width), commands[name]) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [(name, command.get_short_help_str(formatter.width - 6 - width)) for name, command in rows]
                )

    def _load(self, name: str) -> None:
        if name not in self.commands:
            own = GATE.get(name)
            command = getattr(import_module(own), name) if own else plugins.load(plugins.COMMANDS, name)
            output.add_flags(command)
            self.add_command(command)
