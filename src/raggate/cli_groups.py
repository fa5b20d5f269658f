"""The commands that have a module of their own: one line each."""

from __future__ import annotations

import click

from raggate.cli_baseline import baseline
from raggate.cli_comment import comment
from raggate.cli_convert import convert
from raggate.cli_evaluate import evaluate
from raggate.cli_export import export
from raggate.cli_helloworld import helloworld
from raggate.cli_kebab import kebab
from raggate.cli_labels import labels
from raggate.cli_substrate import substrate

COMMANDS: tuple[click.Command, ...] = (
    *(baseline, comment, convert, labels, evaluate, export, helloworld, kebab, substrate),
)
