"""The flags of a command -> what it asks the pipeline for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.cli import console

if TYPE_CHECKING:
    from raggate.models.golden import Choice
    from raggate.pipeline.request import Request


def request_of(
    choice: Choice | None = None,
    *,
    config_file: Path,
    against: str | None = None,
    baseline_file: Path | None = None,
    out: Path | None = None,
    full_text: bool = False,
    resume: Path | None = None,
    **overrides: str | None,
) -> Request:
    """Make the request of a command: which questions, and the flags that commands of the gate share."""
    from raggate.config.overrides import Overrides
    from raggate.models.golden import EVERYTHING
    from raggate.pipeline.request import Request

    return Request(
        config_file=config_file,
        environment=click.get_current_context().obj,
        say=console.say,
        overrides=Overrides(**overrides, contained=False, replayed=False),
        against=against,
        out=out,
        baseline_file=baseline_file,
        full_text=full_text,
        **console.hearing(),
        choice=choice or EVERYTHING,
        resume=resume,
    )
