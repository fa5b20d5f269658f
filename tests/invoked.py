"""A command of the other package, run as the command line runs it."""

from __future__ import annotations

from click import Command
from click.testing import CliRunner, Result


def invoked(command: Command, *arguments: object) -> Result:
    """Run a command; an error that raggate's command line would print is raised."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(command, words, catch_exceptions=False, standalone_mode=False)


def ended(command: Command, *arguments: object) -> tuple[int, str]:
    """Run a command; give what it exits with and everything it prints."""
    result = invoked(command, *arguments)
    return int(result.return_value or 0), result.output
