"""The first screen of the command line: the gate first, other systems in a section of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from raggate.cli.main import cli


def test_a_command_loads_no_other() -> None:
    """Starting one command does not read the modules of all, which is a sixth of the start."""
    program = "import sys; from raggate.cli.main import cli; cli.get_command(None, 'lint'); print(*sys.modules)"
    words = [sys.executable, "-c", program]
    modules = subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()
    assert "raggate.cli.lint" in modules
    assert not {"raggate.cli.golden", "raggate.cli.check"} & {*modules}
    assert [name for name in modules if name.startswith("raggate_interop")] == []


def test_a_misspelled_command() -> None:
    """The message names commands of all modules that are spelled alike."""
    assert "Did you mean 'evaluate'?" in CliRunner().invoke(cli, ["evaluat"]).output


def test_the_help_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` is the first command, each section is there, and no line is cut."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(cli, ["--help"]).output
    lines = shown.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options:", "Every day:", "Start:", "Trust:", "Large suites:", "Other systems:"]
    assert lines[lines.index("Every day:") + 1].startswith("  check ")
    assert "..." not in shown.partition("Every day:")[2]
    assert max(map(len, lines)) <= 80
