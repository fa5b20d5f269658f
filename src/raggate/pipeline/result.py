"""How a request ended: with a verdict, with a measured run, or with an error that tells how far it came."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from raggate.errors import RaggateError
from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.models.verdict import Review
from raggate.models.waiver import WaiverStatus


class CheckResult(Struct, frozen=True, kw_only=True):
    """A verdict, and the run directory that holds it and what it rests on."""

    review: Review
    directory: Path


class RunResult(Struct, frozen=True, kw_only=True):
    """A measured run, and its run directory. It may have broken off; `run.stopped` says why."""

    run: Run
    directory: Path


class RunFailed(RaggateError):
    """A request that ended without a verdict: any other error of raggate, with what was known by then.

    Attributes:
        failure: the reason as reports tell it, with the suite, once known, and the waivers, once a run has begun.
        directory: the run directory, which holds the reason too; None when none was made.
    """

    def __init__(
        self, error: RaggateError, *, suite: str, waivers: tuple[WaiverStatus, ...] = (), directory: Path | None = None
    ) -> None:
        super().__init__(error.lines, hint=error.hint, log=error.log)
        self.exit_code = error.exit_code
        self.label = error.label
        self.failure = RunFailure.of(error, suite, waivers, run_id=directory.name if directory else "")
        self.directory = directory
