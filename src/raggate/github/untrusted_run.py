"""An artifact -> the run that it claims, or that it has none; `claimed_run` says what of that is believed."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from raggate.base.errors import CannotTell, ExitCode, RaggateError
from raggate.base.files import scratch_directory
from raggate.base.jsonio import fields, loads
from raggate.base.quote import cut, quoted
from raggate.config.schema import Config
from raggate.github.rest import artifacts
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import SourceRun
from raggate.models.publication import RunFailure
from raggate.models.run import Run
from raggate.pipeline import run_directory
from raggate.pipeline.claimed_run import ITS_WORDS

MOST_VERDICT_BYTES = 4 << 20
"""Of a `verdict.json` that is looked at, which is one of a run that measured nothing: a headline and lines of a log."""

_MEASURED_NOTHING = {
    int(ExitCode.USAGE): "usage error",
    int(ExitCode.CANNOT_TELL): "cannot tell",
    int(ExitCode.INTERNAL): "internal error",
    int(ExitCode.INTERRUPTED): "interrupted",
}
"""The ends of a run that measured nothing. A run that claims another one measured nothing either."""
_NO_RESULTS = "The artifact has no results, and does not say why."
UPDATE = "Update the branch, so that both are measured by the same files."
"""What to do about a run that the trusted files cannot judge."""


def read(files: Mapping[str, bytes], config: Config | None = None) -> Run:
    """Read the run directory that an artifact holds; its names are some of `artifacts.FILES`."""
    with scratch_directory() as scratch:
        for name, content in files.items():
            (scratch / name).write_bytes(content)
        return run_directory.read(scratch, named=Path(), config=config)


class UntrustedRuns:
    """The run directories of several suites, as one artifact holds them. What they say of themselves is a claim.

    A claim chooses which directory is judged for a suite of the trusted list, and no more: files of another suite do
    not fit the trusted inputs.
    """

    def __init__(self, runs: Sequence[Mapping[str, bytes]], *, why_none: RaggateError | None = None) -> None:
        self._why_none, self._runs = why_none, runs
        self._by_suite: dict[str, list[Mapping[str, bytes]]] = {}
        for files in self._runs:
            self._by_suite.setdefault(_claimed_suite(files), []).append(files)

    def __contains__(self, suite: str) -> bool:
        return suite in self._by_suite

    def only(self, suite: str) -> Mapping[str, bytes]:
        """Return the run directory if there is just one, whatever it calls itself; else that of the suite."""
        return self._runs[0] if len(self._runs) == 1 else self.of_suite(suite)

    def of_suite(self, suite: str) -> Mapping[str, bytes]:
        """Return the one run directory of a suite, by the name that the trusted configuration gives it."""
        if self._why_none is not None:
            raise self._why_none
        runs = self._by_suite.get(suite, [])
        if len(runs) != 1:
            raise CannotTell(
                f"the artifact has {len(runs) or 'no'} {'runs' if runs else 'run'} of this suite, expected one",
                hint="Upload the run directory of one step. The log of the run says why there is none.",
            )
        return runs[0]


def runs_of(repository: Repository, run: SourceRun, name: str) -> UntrustedRuns:
    """Return the run directories in an artifact. If it cannot be read, taking any of them raises the reason."""
    try:
        artifact = artifacts.find(repository, run.id, name, since=run.run_started_at)
        if artifact is None:
            raise CannotTell(
                f"the run ended ({cut(run.conclusion or 'without a conclusion')}) and left no artifact "
                f"{quoted(name)}, so there is nothing to judge",
                hint="The log of the run says why.",
            )
        return UntrustedRuns(artifacts.download(repository, artifact))
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        return UntrustedRuns((), why_none=error)


def _claimed_suite(files: Mapping[str, bytes]) -> str:
    """Return the name of a suite that a run directory gives itself; empty for none."""
    for name in ("config.json", "verdict.json"):
        with contextlib.suppress(ValueError):
            claimed = fields(loads(_small(files.get(name, b"{}"), name))).get("suite")
            if isinstance(claimed, str) and claimed:
                return claimed
    return ""


def _small(content: bytes, name: str) -> bytes:
    """Return what is parsed as a whole; raises ValueError where it is a verdict of more bytes than are looked at."""
    if name == "verdict.json" and len(content) > MOST_VERDICT_BYTES:
        raise ValueError(f"{name}: larger than {MOST_VERDICT_BYTES} bytes")
    return content


def without_results(verdict: bytes | None, suite: str) -> RunFailure:
    """Return the failure of a run that measured nothing. Whatever it claims, it did not pass."""
    try:
        claim = _Claim.model_validate_json(_small(verdict or b"{}", "verdict.json"))
    except ValueError:  # pydantic's is one, too
        claim = _Claim(exit_code=-1, headline="")
    label = _MEASURED_NOTHING.get(claim.exit_code)
    message = f"The untrusted run reports: {label}. It measured nothing." if label else _NO_RESULTS
    words = [line for line in (*claim.headline.split("\n"), *claim.log) if line.strip()]
    return RunFailure(
        label=label or "cannot tell",
        exit_code=claim.exit_code if label else int(ExitCode.CANNOT_TELL),
        lines=(message,),
        log=(ITS_WORDS, *words) if words else (),
        suite=suite,
        claimed=True,
    )


class _Claim(BaseModel):
    """The reported part of a verdict.json without results. Somebody hostile may have written it."""

    model_config = ConfigDict(extra="ignore", strict=True)

    exit_code: int
    headline: Annotated[str, Field(max_length=10_000)]
    log: Annotated[list[Annotated[str, Field(max_length=10_000)]], Field(max_length=200)] = []
