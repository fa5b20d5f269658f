"""The first screen of the command line: the gate first, other systems in a section of their own."""

from __future__ import annotations

import inspect
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from raggate import plugins
from raggate.cli.commands import GATE
from raggate.cli.main import cli, run_command
from raggate.cli.options_only import OptionsOnly


def test_every_command_stands_in_one_section() -> None:
    """No command is left out of the help, and none stands in it twice."""
    sections = cli.sections(click.Context(cli))
    assert [name for names in sections.values() for name in names] == [*GATE, *plugins.names(plugins.COMMANDS)]
    assert sorted(cli.loaded()) == sorted([*GATE, *plugins.names(plugins.COMMANDS)])


def test_every_command_stands_in_its_module() -> None:
    """The table says where a command is made, so that no other module is loaded for it."""
    for name, module in GATE.items():
        command = cli.loaded()[name]
        assert command.name == name
        assert inspect.unwrap(command.callback).__module__ == module


def test_a_command_loads_no_other() -> None:
    """Starting one command does not read the modules of all, which is a sixth of the start."""
    program = "import sys; from raggate.cli.main import cli; cli.get_command(None, 'lint'); print(*sys.modules)"
    words = [sys.executable, "-c", program]
    modules = subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()
    assert {*GATE.values()} & {*modules} == {"raggate.cli.main", "raggate.cli.lint"}
    assert [name for name in modules if name.startswith("raggate_interop")] == []


def test_a_misspelled_command() -> None:
    """The message names commands of all modules that are spelled alike."""
    assert "Did you mean 'evaluate'?" in CliRunner().invoke(cli, ["evaluat"]).output


def test_words_that_belong_to_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    """A question, a configuration or an address that stands bare is refused with the call that was meant."""
    for words, call in (
        ("probe how do I sync?", "raggate probe --question 'how do I sync?'"),
        ("probe -q other.yml --seconds 5", "raggate probe --config other.yml"),
        ("check http://somebody:secret@127.0.0.1:1", "raggate check --api-url 'http://***@127.0.0.1:1'"),
        ("lint notes", "raggate lint --help"),
        ("baseline show other.yml", "raggate baseline show --config other.yml"),
    ):
        assert run_command(words.split()) == 2
        shown = capsys.readouterr().err
        command = call.removeprefix("raggate ").partition(" --")[0]
        assert f"usage error: {command}: expected options alone, found" in shown
        assert f"`{call}`" in shown, shown


def test_a_command_without_arguments_takes_options_alone() -> None:
    """What takes a configuration and no argument says so of bare words, below a group too; a group reads commands."""
    gate = [cli.loaded()[name] for name in GATE]
    below = [inner for one in gate if isinstance(one, click.Group) for inner in one.commands.values()]
    several = [one for one in (*gate, *below) if not isinstance(one, click.Group)]
    bare = [one for one in several if not any(isinstance(known, click.Argument) for known in one.params)]
    alone = {one.name for one in bare if any("--config" in known.opts for known in one.params)}
    assert alone == {one.name for one in several if isinstance(one, OptionsOnly)}
    assert {"check", "prune", "show"} < alone


def test_the_gate_comes_first() -> None:
    """The commands of the gate are listed as they are met, and what serves other systems comes after them."""
    lines = CliRunner().invoke(cli, ["--help"]).output.splitlines()
    listed = [line.split()[0] for line in lines[lines.index("Commands:") :] if line]
    gate = [
        "demo",
        "init",
        "probe",
        "golden",
        "label",
        "lint",
        "check",
        "diff",
        "plan",
        "run",
        "merge",
        "calibrate",
        "judge",
        "compare",
        "runs",
        "promote",
        "baseline",
        "prove",
    ]
    assert listed[: len(gate) + 3] == ["Commands:", *gate, "Other", "convert"]
