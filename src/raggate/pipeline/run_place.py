"""The directory of a run that begins, or of one that was killed and goes on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from raggate.inputs import golden, sources, vault
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case, Selection
from raggate.models.provenance import RunCommand
from raggate.pipeline import run_directory, unfinished_run
from raggate.pipeline.failure_reports import begun
from raggate.pipeline.request import Request
from raggate.pipeline.unfinished_run import UnfinishedRun
from raggate.reports import OF_FAILURE, OF_RUN
from raggate.text.dates import now


def directory_of(
    stack: ExitStack,
    request: Request,
    inputs: Inputs,
    selection: Selection | None,
    command: RunCommand | None,
    below: Path | None,
) -> tuple[Path, str, UnfinishedRun | None]:
    """Make the directory of a run, or find the one that goes on. Returns when it began too, and its answers so far.

    Until `stack` is left, whatever ends the run leaves the reason in the directory. `command` is None where no answers
    are kept, as of a run that is beside another one.
    """
    started = now()
    if command is not None and unfinished_run.keeps(request, command):
        cases = golden.asked_of(inputs.golden, selection).cases
        kept = stack.enter_context(_kept(stack, request, inputs, cases, command, started))
        if kept.resumes:
            begun(stack, lambda: _cleared(kept.directory), inputs.config)
        return kept.directory, kept.asking.started, kept
    if below is None:
        return run_place(stack, request, inputs, started), started, None
    return begun(stack, lambda: _made(below / "preview"), inputs.config), started, None


def _kept(
    stack: ExitStack, request: Request, inputs: Inputs, cases: Sequence[Case], command: RunCommand, started: str
) -> UnfinishedRun:
    checkout = sources.head(request.root, request.remote)
    asking = unfinished_run.asking(request, inputs, cases, command, started, checkout)
    if request.resume is None:
        return UnfinishedRun(
            directory=run_place(stack, request, inputs, started), asking=asking, checkout=checkout, say=request.say
        )
    return UnfinishedRun(
        directory=unfinished_run.place(request, run_directory.safe_runs(request, inputs.config.out), request.resume),
        asking=asking,
        checkout=checkout,
        resumes=True,
        say=request.say,
    )


def _cleared(directory: Path) -> Path:
    """Remove the reports of what a run was interrupted for."""
    for name in (*OF_FAILURE, *OF_RUN):
        (directory / name).unlink(missing_ok=True)
    return directory


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def run_place(stack: ExitStack, request: Request, inputs: Inputs, started: str) -> Path:
    """Make the directory of a run that began at a time, ISO 8601, and tell of it, and of notes that are no UTF-8.

    Until `stack` is left, whatever ends the run leaves the reason there.

    Raises:
        UsageError: when it cannot be made, or would lie behind a link.
    """
    vault.say_malformed(inputs.vault, request.say)
    runs = run_directory.safe_runs(request, inputs.config.out)
    directory = begun(stack, lambda: run_directory.create(runs, started), inputs.config)
    request.created(directory)
    return directory
