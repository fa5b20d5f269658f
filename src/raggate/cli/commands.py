"""The commands that have a module of their own: one line each."""

from __future__ import annotations

import click

from raggate.cli.baseline import baseline
from raggate.cli.comment import comment
from raggate.cli.init import init
from raggate.cli.labels import labels
from raggate.interop.convert_command import convert
from raggate.interop.evaluate_command import evaluate
from raggate.interop.export_command import export
from raggate.interop.helloworld.command import helloworld
from raggate.interop.kebab.command import kebab
from raggate.interop.substrate.command import substrate

COMMANDS: tuple[click.Command, ...] = (
    init,
    baseline,
    comment,
    convert,
    labels,
    evaluate,
    export,
    helloworld,
    kebab,
    substrate,
)
