"""A function of Python that is asked in raggate's own process, by the same lines as a program and its shim."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
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
from raggate.service.line_pipes import STDIO_URL
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
            served = _Served(self._retriever, vaults, log)
            try:
                yield served
            finally:
                served.close()


class _Served:
    """The function, with a thread that reads questions and writes answers."""

    base_url = STDIO_URL

    def __init__(self, retriever: object, vaults: Mapping[str, str], log: Log) -> None:
        (its_in, into), (out, its_out) = os.pipe(), os.pipe()
        self._log = log
        self._end: ProcessExit | None = None
        self.pipes = ProgramPipes(os.fdopen(into, "wb", 0), os.fdopen(out, "rb", 0), log.feed)
        lines, answers = os.fdopen(its_in, encoding="utf-8"), os.fdopen(its_out, "wb", 0)
        works = (retriever, dict(vaults), lines, answers)
        self._thread = threading.Thread(target=self._serve, args=works, name="retriever", daemon=True)
        self._thread.start()

    def died(self) -> ProcessExit | None:
        """Return what it raised while it was built, or why it ended; None while it can be asked."""
        return self._end

    def log_tail(self) -> tuple[str, ...]:
        """Return the end of what it raised while it was built."""
        return self._log.tail()

    def close(self) -> None:
        """Let it end after the question that it is at."""
        self.pipes.close()
        self._thread.join(_PATIENCE_S)

    def _serve(self, retriever: object, vaults: dict[str, str], lines: IO[str], answers: IO[bytes]) -> None:
        with suppress(BrokenPipeError), lines, answers:
            try:
                for line in shim.output(retriever, vaults, lines):
                    left = memoryview(line.encode())
                    while left:
                        left = left[answers.write(left) :]
            except BrokenPipeError:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it raises, sys.exit too, ends it alone
                self._log.feed(traceback.format_exc().encode("utf-8", "replace"))
                self._end = ProcessExit(message=f"ended with {type(error).__name__}: {cut(error)}")
