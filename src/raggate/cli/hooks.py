"""What a caller of the command line hands to it and hears of: found by every command in click's context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.errors import RaggateError

if TYPE_CHECKING:
    from raggate.config.first_run import FirstRun
    from raggate.inputs.sources import Remote
    from raggate.models.verdict import Review


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What a caller of `run_command` hears of.

    Attributes:
        environment: raggate's own environment.
        created: takes the run directory as soon as it exists.
        configured: takes the name of the suite once the configuration is read.
        failed: takes the error when the command ends without a verdict.
        judged: takes the review and the run directory when there is a verdict.
        remote: opens a revision that the local repository does not have.
        introducing: whether a revision without a configuration means a first run.
        first_run: what such a run takes from the change's own configuration; None for nothing that needs a permission.
        action: whether raggate was started as the container action, in a container that it shares with nobody.
        contained: whether an API that shares raggate's own surroundings is refused.
        fence: surrounds lines of a foreign log while they are printed to standard error.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    created: Callable[[Path], None] = _nothing
    configured: Callable[[str], None] = _nothing
    failed: Callable[[RaggateError], None] = _nothing
    judged: Callable[[Review, Path], None] = _nothing
    remote: Remote | None = None
    introducing: bool = False
    first_run: FirstRun | None = None
    action: bool = False
    contained: bool = False
    fence: Callable[[], AbstractContextManager[None]] = nullcontext


def current() -> Caller:
    """Give the caller of the command that runs; one that hears nothing when nobody is there."""
    return click.get_current_context().find_object(Caller) or Caller()
