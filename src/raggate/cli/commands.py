"""The commands that have a module of their own, and the sections in which `raggate --help` shows them all."""

from __future__ import annotations

import click

from raggate.cli.baseline import baseline
from raggate.cli.comment import comment
from raggate.cli.demo import demo
from raggate.cli.diff import diff
from raggate.cli.gitlab_note import gitlab_note
from raggate.cli.golden import golden
from raggate.cli.init import init
from raggate.cli.judge import judge
from raggate.cli.label import label
from raggate.cli.labels import labels
from raggate.cli.lint import lint
from raggate.cli.probe import probe
from raggate.cli.prove import prove
from raggate.cli.runs import runs
from raggate.cli.shards import merge, plan
from raggate.interop.convert_command import convert
from raggate.interop.evaluate_command import evaluate
from raggate.interop.export_command import export
from raggate.interop.helloworld.command import helloworld
from raggate.interop.kebab.command import kebab
from raggate.interop.substrate.command import substrate

COMMANDS: tuple[click.Command, ...] = (
    *(demo, diff, init, probe, golden, label),
    *(lint, baseline, judge, prove, runs),
    *(plan, merge),
    *(comment, gitlab_note),
)
OTHER_SYSTEMS: tuple[click.Command, ...] = (convert, export, evaluate, labels, helloworld, kebab, substrate)
"""What serves moving in from other systems, and living beside them."""

_ORDER = (
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
)
"""The gate's own commands as they are met: set up, gate, look closer, promote."""


class Sections(click.Group):
    """A group whose help shows the gate's commands first, and other systems in a section of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the help."""
        names = [*_ORDER, *(command.name or "" for command in OTHER_SYSTEMS)]
        return sorted(super().list_commands(ctx), key=names.index)

    def sections(self, ctx: click.Context) -> dict[str, list[str]]:
        """Give the names of the commands by the title of their section."""
        names = self.list_commands(ctx)
        others = {command.name for command in OTHER_SYSTEMS}
        return {
            "Commands": [name for name in names if name not in others],
            "Other systems": [name for name in names if name in others],
        }

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, their columns as wide in one as in the other."""
        width = max(len(name) for name in self.commands)
        for title, names in self.sections(ctx).items():
            rows = [(name.ljust(width), self.commands[name]) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [(name, command.get_short_help_str(formatter.width - 6 - width)) for name, command in rows]
                )
