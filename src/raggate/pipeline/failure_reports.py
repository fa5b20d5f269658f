"""A run directory in which something ends without a verdict: why is left in it, and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from raggate.config.schema import Config
from raggate.errors import Interrupted, RaggateError
from raggate.gate import waivers
from raggate.pipeline import run_directory
from raggate.pipeline.request import RunFailed
from raggate.reports import OF_FAILURE
from raggate.service import signals
from raggate.text.dates import now


@contextmanager
def failure_reports(directory: Path, settings: Config) -> Iterator[None]:
    """Leave the reason in the run directory when what is done in it ends without a verdict.

    Raises:
        RunFailed: for that end, with the waivers that stand.
    """
    try:
        try:
            with signals.unwrapped():
                # of an earlier check, whose verdict it came too late for
                signals.go_on()
                yield
        except RaggateError as error:
            with signals.deferred():
                failed = _failed(directory, error, settings)
            raise failed from error
    except KeyboardInterrupt:
        with signals.deferred() as came:
            hint = f"What was done so far is in {display_path(directory)}."
            failed = _failed(directory, Interrupted("interrupted before there was a verdict", hint=hint), settings)
            # whoever sent these wants what is done already
            came.clear()
        raise failed from None


def begun(stack: ExitStack, make: Callable[[], Path], settings: Config) -> Path:
    """A run directory that `make` gives, in which `failure_reports` is entered before a signal can come."""
    with signals.deferred():
        directory = make()
        stack.enter_context(failure_reports(directory, settings))
    return directory


def display_path(directory: Path, root: Path | None = None) -> str:
    """Name a run directory from where people are, or from the configuration: where a machine has it is nobody's."""
    path = Path.cwd() / directory
    parents = [Path.cwd()] if root is None else [Path.cwd(), root]
    relative = (path.relative_to(parent) for parent in parents if path.is_relative_to(parent))
    return next(relative, Path(path.name)).as_posix()


def _failed(directory: Path, error: RaggateError, settings: Config) -> RunFailed:
    standing_waivers = waivers.waiver_statuses(settings.waivers, now())
    failed = RunFailed(error, suite=settings.suite, waivers=standing_waivers, directory=directory)
    run_directory.write_reports(directory, OF_FAILURE, failed.failure)
    return failed
