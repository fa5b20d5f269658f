"""What both front ends print, and how whatever ends them becomes an exit code: verdict, run, error, bug."""

from __future__ import annotations

import gc
import io
import os
import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from raggate import __version__
from raggate.base import files
from raggate.base.errors import NO_MEMORY, CannotTell, ExitCode, RaggateError, UsageError, out_of_memory
from raggate.base.escape import log_line
from raggate.base.numbers import counted
from raggate.frontends import output
from raggate.models.answer import Answer
from raggate.service import signals

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from raggate.frontends.answers import Measured
    from raggate.inputs.suite_list import SuiteFile
    from raggate.models.promotion import BaselineCandidate
    from raggate.models.suites import SuiteOutcome
    from raggate.models.verdict import Review
    from raggate.pipeline.report_files import Files
    from raggate.pipeline.request import Request, RunResult

CRASH_LOG = Path(".raggate/crash.log")
LOG_WIDTH = 140
"""Columns when the output is not a terminal."""
GARBAGE = 100_000
"""Objects made, and not freed, after which garbage is looked for."""
T = TypeVar("T")
Fence = Callable[[], AbstractContextManager[None]]
"""Surrounds lines of a foreign log while they are printed to standard error."""


def prepare_process() -> None:
    """Print whatever text there is, wherever it goes, and take either signal for an interrupt."""
    # what is loaded stays until the end: looking through all of it for garbage again and again is a tenth of the start
    gc.set_threshold(GARBAGE, 20, 20)
    gc.enable()
    # a descriptor that is closed would be taken by a file of the run, and what is printed would go there
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    sys.stdout = _forgiving(sys.stdout, sys.__stdout__, BrokenPipeError)
    sys.stderr = _forgiving(sys.stderr, sys.__stderr__, OSError)
    signals.install()


class _Forgiving(io.FileIO):
    """A descriptor that takes what it cannot pass on, so that a verdict does not depend on who listens.

    Click would end with 1 if a reader has left: https://github.com/pallets/click/pull/1106. An error that is not
    forgiven, such as a full disk below standard output, is raised once.
    """

    def __init__(self, descriptor: int, forgiven: type[OSError]) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._forgiven = forgiven
        self._reported = False

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not self._reported and not isinstance(error, self._forgiven):
                self._reported = True
                raise
            return memoryview(data).nbytes


def _forgiving(stream: TextIO | None, own: TextIO | None, forgiven: type[OSError]) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if stream is own:
        raw = _Forgiving(stream.fileno(), forgiven)
        return io.TextIOWrapper(
            io.BufferedWriter(raw), stream.encoding, "replace", line_buffering=bool(stream.line_buffering)
        )
    # another one that a caller in this process has put there
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    return stream


def require(what: str, *modules: str) -> None:
    """Refuse to go on if a library that `what` needs is missing."""
    from importlib.util import find_spec

    if any(find_spec(module) is None for module in modules):
        raise UsageError(
            f"{what} needs {' and '.join(modules)}, which are not installed",
            hint=f"Install what is missing: python3 -m pip install {' '.join(modules)}",
        )


def guarded(
    work: Callable[[], int], environment: Mapping[str, str], fence: Fence = nullcontext
) -> tuple[int, RaggateError | None]:
    """Do the work, say what went wrong, and return the exit code with the error that decided it. Raises nothing."""
    try:
        with signals.unwrapped():
            return work(), None
    except RaggateError as error:
        expected = error
    except KeyboardInterrupt:
        click.echo("raggate: interrupted", err=True)
        return int(ExitCode.INTERRUPTED), None
    except Exception as error:  # noqa: BLE001 - the one place that turns a bug into an exit code
        refused = files.unwritable(error) or files.unreachable(error) if isinstance(error, OSError) else None
        if refused is None:
            say_crash(error, environment)
            return int(ExitCode.INTERNAL), None
        expected = refused
    say_error(expected, fence)
    return int(expected.exit_code), expected


def show_review(
    review: Review,
    directory: Path,
    environment: Mapping[str, str],
    *,
    reports: Path | None = None,
    fence: Fence = nullcontext,
    promoting: Callable[[str], str] = lambda run: f"raggate promote {shlex.quote(run)}",
) -> None:
    """Print a verdict to standard output."""
    from raggate.pipeline import rerun
    from raggate.reports.parts.advice import log_place

    place = log_place(review.run)
    # before the report, which ends with the verdict
    _say_log(review.run.log, fence, more=f" (all of them: {place})" if place else "")
    click.echo(rendered(review, environment), color=True)
    comparison = review.comparison
    click.echo(f"report:  {log_line(str(short_path((reports or directory) / 'report.html')))}, and summary.md")
    if comparison.baseline is None and not comparison.no_baseline and rerun.promotable(review):
        click.echo(log_line(f"first run? Review it, then: {promoting(str(short_path(directory)))}"))


def rendered(review: Review, environment: Mapping[str, str]) -> str:
    """Return a verdict as it is printed."""
    from raggate.reports import terminal

    # a log breaks its lines itself, and is searched line by line
    wrap = sys.stdout.isatty()
    return terminal.render(review, width=max(width(), 60), color=output.coloured(environment), wrap=wrap)


def check_suite(
    request: Request, suite: SuiteFile, files: Files, stored: Path | None = None, *, fence: Fence = nullcontext
) -> SuiteOutcome:
    """Check one suite, print how it ended, and return that. `stored` is the run to judge, if there is one already."""
    from raggate.models.suites import SuiteOutcome
    from raggate.pipeline import report_files

    result = report_files.check(request, files, stored)
    review, directory = result.review, result.directory
    show_review(review, directory, request.environment, fence=fence, promoting=request.promoting)
    code = review.verdict.exit_code
    return SuiteOutcome(config=suite.config, suite=suite.suite, code=code, review=review, directory=directory)


def made_of(proposal: BaselineCandidate) -> str:
    """Return the source of a baseline as one harmless line."""
    card = proposal.comparison.scorecard
    return log_line(f"baseline of suite {card.suite}, run {card.run_id}, {counted(card.questions, 'question')}")


def of_suite(
    suite: SuiteFile, work: Callable[[], T], environment: Mapping[str, str], fence: Fence = nullcontext
) -> T | SuiteOutcome:
    """Do what is to be done for one suite of several; what goes wrong is said, and is how this suite ended."""
    from raggate.pipeline import suites

    results: list[T] = []

    def keep() -> int:
        results.append(work())
        return int(ExitCode.PASS)

    code, error = guarded(keep, environment, fence)
    return results[0] if results else suites.ended(suite, code, error)


def show_run(result: RunResult) -> Answer[Measured]:
    """Print where a measured run is, and give that as an answer."""
    from raggate.frontends.answers import Measured, Part

    click.echo(log_line(str(short_path(result.directory))))
    if result.run.stopped is not None:
        raise CannotTell(result.run.stopped, log=result.run.log)
    run = result.run
    part = run.selection
    return Answer(
        Measured(
            run_directory=result.directory,
            run_id=run.run_id,
            suite=run.suite,
            cases=len({item.case.id for item in run.results}),
            results=len(run.results),
            failed=sum(item.result.failure is not None for item in run.results),
            partial=None if part is None else Part(asked=len(part.asked), of=part.of),
            resumed=run.provenance.resumed,
        )
    )


def short_path(path: Path) -> Path:
    """Shorten a path for people: relative to where they are, when it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def width() -> int:
    """Return the columns of the terminal, or those of a log."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if sys.stdout.isatty() else LOG_WIDTH


def say(line: str) -> None:
    """Print one line to standard error, made harmless; a quiet command says none."""
    if not output.quiet():
        click.echo(f"raggate: {log_line(line)}", err=True)


def say_error(error: RaggateError, fence: Fence = nullcontext) -> None:
    """Print an error with its hint and the API's last log lines, all of it harmless for a CI log."""
    for number, line in enumerate(error.lines):
        # an interruption begins with the word that it is called by
        label = "" if line.startswith(error.label) else f"{error.label}: "
        prefix = f"raggate: {label}" if number == 0 else "  "
        click.echo(prefix + log_line(line, limit=1500), err=True)
    _say_log(error.log, fence)
    if error.hint:
        click.echo(f"  {log_line(error.hint, limit=1000)}", err=True)


def _say_log(lines: Sequence[str], fence: Fence, *, more: str = "") -> None:
    if lines:
        click.echo(f"  the API's last log lines{more}:", err=True)
        with fence():
            for line in lines:
                click.echo(f"  | {log_line(line, limit=500)}", err=True)


def say_crash(error: BaseException, environment: Mapping[str, str]) -> None:
    """Print that raggate itself failed, or ran out of memory. Raises nothing, and then takes no memory."""
    words = NO_MEMORY
    if not out_of_memory(error):
        try:
            _report_crash(error, environment)
            return
        except Exception as another:  # noqa: BLE001 - Python's own code for it is that of a regression
            if not out_of_memory(another):
                names = f"{type(error).__name__}, and {type(another).__name__} on reporting it"
                words = f"raggate: internal error: {names}\n".encode()
    with suppress(OSError):
        os.write(2, words)


def _report_crash(error: BaseException, environment: Mapping[str, str]) -> None:
    from traceback import format_exception

    from raggate.base.files import write_atomic
    from raggate.base.quote import without_userinfo
    from raggate.base.redact import of_environment, redact

    secrets = of_environment(environment, environment)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    versions = f"raggate {__version__}, {python}, {platform.platform()}\n\n"
    details = versions + without_userinfo(redact("".join(format_exception(error)), secrets))
    message = f"internal error: {type(error).__name__}: {without_userinfo(redact(str(error), secrets))}"
    click.echo(f"raggate: {log_line(message)}", err=True)
    try:
        if CRASH_LOG.parent.is_symlink():
            raise NotADirectoryError(f"{CRASH_LOG.parent} is a link")
        write_atomic(CRASH_LOG, details.encode(errors="backslashreplace"))
        click.echo(f"  This is a bug in raggate. Please report it with {CRASH_LOG}.", err=True)
    except OSError:
        for line in details.splitlines():
            click.echo(f"  | {log_line(line)}", err=True)
