"""A program's entry point called in this process, which has everything imported already."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock


@dataclass(frozen=True)
class Done:
    """How one process, or one call in this process, ended."""

    code: int
    out: str
    err: str


def called(entry: Callable[[], object], *, at: Path, environment: Mapping[str, str], alone: bool = False) -> Done:
    """Call what a program calls first, with a directory, variables and streams of its own.

    Args:
        entry: gives the exit code, or ends with one as a program does.
        at: the working directory.
        environment: the variables.
        alone: whether those are all there are; otherwise they come on top of the present ones.
    """
    out, err = io.BytesIO(), io.BytesIO()
    wrapped = [io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in (out, err)]
    # what an entry point sets up for the rest of its process
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    variables = mock.patch.dict(os.environ, environment, clear=alone)
    try:
        with chdir(at), variables, redirect_stdout(wrapped[0]), redirect_stderr(wrapped[1]):
            code = entry()
    except SystemExit as ended:
        code = ended.code
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert isinstance(code, int)
    return Done(code, out.getvalue().decode(), err.getvalue().decode())
