"""The command line: which commands there are, how `raggate --help` shows them, and the process around them.

Reads os.environ.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import NoReturn

import click

from raggate import __version__
from raggate.base import plugins
from raggate.base.errors import ExitCode, UsageError
from raggate.frontends import console, output

GATE: Mapping[str, Mapping[str, str]] = {
    "Every day": {
        "check": "check",
        "diff": "check",
        "compare": "check",
        "runs": "runs",
        "promote": "promote",
        "baseline": "baseline",
    },
    "Start": {"demo": "demo", "init": "init", "probe": "probe", "golden": "golden", "label": "label", "lint": "lint"},
    "Trust": {"calibrate": "check", "prove": "prove", "judge": "judge"},
    "Large suites": {"run": "check", "merge": "check"},
}
"""The gate's own commands by the section of the help, each with its module in this folder."""
OTHERS = "Other systems"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the code of the outcome; see `raggate.base.errors.ExitCode`."""
    console.prepare_process()
    # pydantic would look through every distribution that is installed for plugins, and load them
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None) -> int:
    """Run the command line, say what went wrong, and return the exit code; see `raggate.base.errors.ExitCode`."""
    environment = dict(os.environ)
    words = sys.argv[1:] if arguments is None else list(arguments)

    def command() -> int:
        try:
            color = output.coloured(environment)
            code = cli.main(args=words, prog_name="raggate", standalone_mode=False, obj=environment, color=color)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.ctx.get_help() if error.ctx else "", err=True)
            raise UsageError("name a command") from None
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            path = context.command_path if context else "raggate"
            raise UsageError(error.format_message(), hint=f"See `{path} --help`.") from None
        except click.Abort:
            raise KeyboardInterrupt from None
        return code if isinstance(code, int) else int(ExitCode.PASS)

    with output.of_command() as spoken:
        code, error = console.guarded(command, environment)
        if output.wanted(spoken, words):
            from raggate.base.jsonio import dumps

            document = dumps(output.document(spoken.command, code, error), pretty=True)
            code, _ = console.guarded(partial(_print_document, document, code), environment)
    return int(code)


def _print_document(document: bytes, code: int) -> int:
    click.echo(document, nl=False)
    return code


class Sections(click.Group):
    """A group whose help shows the gate's commands by section, and those of other packages below.

    Each command is loaded when it is asked for.
    """

    def loaded(self) -> Mapping[str, click.Command]:
        """Load all commands, and return them by name."""
        for name in self.list_commands(None):
            self._load(name)
        return self.commands

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command. The message for one that is none names those that are spelled alike, of all."""
        if cmd_name in self.list_commands(ctx):
            self._load(cmd_name)
        else:
            self.loaded()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """Name the commands in the order of the help."""
        return [name for names in self.sections().values() for name in names]

    def sections(self) -> dict[str, list[str]]:
        """Return the names of the commands by the title of their section."""
        return {**{title: list(own) for title, own in GATE.items()}, OTHERS: list(plugins.names(plugins.COMMANDS))}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, their columns as wide in one as in the other."""
        commands = self.loaded()
        width = max(len(name) for name in commands)
        for title, names in self.sections().items():
            if names:
                with formatter.section(title):
                    rows = [(name.ljust(width), commands[name].get_short_help_str(100)) for name in names]
                    formatter.write_dl(rows)

    def _load(self, name: str) -> None:
        if name not in self.commands:
            module = next((own[name] for own in GATE.values() if name in own), None)
            own = module and getattr(import_module(f"raggate.cli.{module}"), name)
            command = own or plugins.load(plugins.COMMANDS, name)
            output.add_flags(command)
            self.add_command(command)


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="raggate")
def cli() -> None:
    """A regression gate for RAG services.

    Starts the API, asks it a golden set of questions, compares the retrieval metrics with a baseline, and gives a
    verdict as exit code: 0 pass, 1 regression, 2 usage error, 3 cannot tell, 4 invariant broken, 5 only a part was
    asked and nothing of it got worse, 70 internal error, 130 interrupted.
    """


output.add_flags(cli)
