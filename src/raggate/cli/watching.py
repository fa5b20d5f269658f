"""`--watch`: one check after the other, each told as by itself, until somebody interrupts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from raggate.cli import console, output
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.service import signals

if TYPE_CHECKING:
    from raggate.pipeline.request import Request


def watch(request: Request, check: Callable[[], int]) -> NoReturn:
    """Check again after every change. An error of one check is told, and the next change may mend it.

    Raises:
        UsageError: with `--json`, which prints one document.
        KeyboardInterrupt: when somebody interrupts, which is the only end.
    """
    from raggate.pipeline import watching

    if output.as_json():
        raise UsageError("--watch: there is one report after another, and --json prints one document")

    def check_once() -> None:
        try:
            check()
        except RaggateError as error:
            if error.exit_code == ExitCode.INTERRUPTED:
                raise
            console.say_error(error)
        signals.go_on()

    watching.watch(request, check_once)
