"""What a command line asks for, beside the configuration: cli -> Invocation -> pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from raggate.config.first_run import STRICT, FirstRun
from raggate.config.schema import Config
from raggate.gate.other_systems import OtherSystem
from raggate.inputs.sources import Remote
from raggate.reports.progress import Progress


def unchanged(settings: Config) -> Config:
    """Take the configuration as it was read."""
    return settings


def unheard(_: Path) -> None:
    """Do nothing about a new run directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What a command line asks for, beside the configuration.

    Attributes:
        root: absolute directory of the configuration file.
        config_name: the file's name in it.
        environment: raggate's own environment, of which a backend hands on what its settings name.
        say: takes progress messages, one harmless line each.
        progress: makes the progress display of the questions.
        systems: the other systems whose metrics files are baselines too, and whose numbers can be asked for.
        against: revision that the trusted inputs are read from; None for the working tree.
        out: where run directories go, in place of the configured one.
        baseline_file: a baseline file on disk, in place of the configured one.
        full_text: keep whole chunk texts on disk.
        reproduce: the command line that does the same, for reports.
        remote: opens a revision that the local repository does not have.
        introducing: whether a revision without a configuration means a first run, and not an error.
        first_run: what such a run takes from the change's own configuration.
        action: whether raggate was started as the container action.
        adjust: changes the configuration once it is read, or refuses it.
        created: hears of the run directory as soon as it exists.
    """

    root: Path
    config_name: str
    environment: Mapping[str, str]
    say: Callable[[str], None]
    progress: Callable[[], AbstractContextManager[Progress]]
    systems: Sequence[OtherSystem]
    against: str | None = None
    out: Path | None = None
    baseline_file: Path | None = None
    full_text: bool = False
    reproduce: str = "raggate check"
    remote: Remote | None = None
    introducing: bool = False
    first_run: FirstRun = STRICT
    action: bool = False
    adjust: Callable[[Config], Config] = unchanged
    created: Callable[[Path], None] = unheard
