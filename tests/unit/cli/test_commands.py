"""The first screen of the command line: the gate first, other systems in a section of their own."""

from __future__ import annotations

import click
from click.testing import CliRunner

from raggate.cli.commands import OTHER_SYSTEMS
from raggate.cli.main import cli


def test_every_command_stands_in_one_section() -> None:
    """No command is left out of the help, and none stands in it twice."""
    sections = cli.sections(click.Context(cli))
    assert sorted(name for names in sections.values() for name in names) == sorted(cli.commands)
    assert sections["Other systems"] == [command.name for command in OTHER_SYSTEMS]


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
        "score",
        "compare",
        "report",
        "runs",
        "promote",
        "baseline",
        "prove",
        "comment",
        "gitlab-note",
    ]
    assert listed[: len(gate) + 3] == ["Commands:", *gate, "Other", "convert"]
