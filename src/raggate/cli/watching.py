"""`--watch`: one check after the other, each told as by itself, until somebody interrupts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from raggate.cli import console, installed, output
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.service import signals

if TYPE_CHECKING:
    from raggate.pipeline.request import Request


def watch(request: Request, check: Callable[[Request], int]) -> NoReturn:
    """Check again after every change. An error of one check is told, and the next change may mend it.

    With `--failed` every check asks the questions that were broken when the watch began.

    Raises:
        UsageError: with `--json`, which prints one document, and without the extra `watch`.
        RunFailed: when `--failed` stands for no question.
        KeyboardInterrupt: when somebody interrupts, which is the only end.
    """
    from raggate.pipeline import check as pipeline, watching

    if output.as_json():
        raise UsageError("--watch: there is one report after another, and --json prints one document")
    installed.check_extra("watch", "--watch")

    fixed = pipeline.with_failed_fixed(request) if request.choice.failed else request

    def check_once() -> None:
        try:
            check(fixed)
        except RaggateError as error:
            if error.exit_code == ExitCode.INTERRUPTED:
                raise
            console.say_error(error)
        signals.go_on()

    watching.watch(request, check_once)
