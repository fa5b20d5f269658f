"""A function of Python that is asked in raggate's own process, by the same lines as a program and its shim."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from raggate.base.quote import cut
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Api
from raggate.models.provenance import IN_PROCESS
from raggate.models.service import ProcessExit, Started, Workspace
from raggate.service.adapters.program import ProgramAdapter
from raggate.service.backends.processes import Log
from raggate.service.functions import shim
from raggate.service.line_pipes import STDIO_URL, Serving
from raggate.service.program_pipes import ProgramPipes

_PATIENCE_S = 1.0
"""For a function that has been asked for the last time. A thread cannot be killed."""


class FunctionAdapter(ProgramAdapter):
    """Asks a function or retriever of this process, through the same pipes and checks as a program."""

    def __init__(self, settings: Ask, vault_names: Sequence[str], retriever: object) -> None:
        super().__init__(settings, vault_names)
        self._retriever = retriever

    @contextmanager
    def start(self, _api: Api, workspace: Workspace) -> Iterator[Started]:
        """Serve it in a thread of its own. On leaving the thread ends, unless the function never returns."""
        workspace.say(f"asking {IN_PROCESS}, which could change the verdict")
        vaults = {name: str(path) for name, path in workspace.vaults.items()}
        with Log(workspace.out / "api.log", workspace.secrets) as log:
            (its_in, into), (out, its_out) = os.pipe(), os.pipe()
            pipes = ProgramPipes(os.fdopen(into, "wb", 0), os.fdopen(out, "rb", 0), log.feed)
            ends: list[ProcessExit | None] = [None]
            lines, answers = os.fdopen(its_in, encoding="utf-8"), os.fdopen(its_out, "wb", 0)
            works = (shim.output(self._retriever, vaults, lines), answers, lines, log, ends)
            thread = threading.Thread(target=_serve, args=works, name="retriever", daemon=True)
            thread.start()
            try:
                yield Serving(base_url=STDIO_URL, died=lambda: ends[-1], log_tail=log.tail, pipes=pipes)
            finally:
                pipes.close()
                thread.join(_PATIENCE_S)


def _serve(output: Iterator[str], answers: IO[bytes], lines: IO[str], log: Log, ends: list[ProcessExit | None]) -> None:
    with suppress(BrokenPipeError), lines, answers:
        try:
            for line in output:
                left = memoryview(line.encode())
                while left:
                    left = left[answers.write(left) :]
        except BrokenPipeError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it raises, sys.exit too, ends it alone
            log.feed(traceback.format_exc().encode("utf-8", "replace"))
            ends.append(ProcessExit(message=f"ended with {type(error).__name__}: {cut(error)}"))
