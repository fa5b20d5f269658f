"""The questions of a run in several processes beside each other, all of one API that is up: shards on one machine.

Each process is a fork of this one, which has read everything already; it leaves the directory of a shard, as a machine
of its own would. Nothing of the API belongs to it: this process alone sees that the API dies, and ends the others.
"""

from __future__ import annotations

import os
import select
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.schema import Config
from raggate.errors import CannotTell, RaggateError, UsageError
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.run import Failure, Result
from raggate.models.service import Started
from raggate.models.shards import Plan
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.shards import shard_directory
from raggate.pipeline.shards.attempts import attempt_in, joined, read_shards
from raggate.pipeline.shards.receipt import receipt_of
from raggate.pipeline.shards.shard_directory import Journal
from raggate.service import forked_processes
from raggate.service.ask import WATCH_SECONDS, questions_of
from raggate.text.clock import now
from raggate.text.numbers import counted
from raggate.text.quote import cut

FOLDER = "workers"
"""The folder of a run directory that processes work in; it is gone when all is merged."""

Ask = Callable[[Sequence[Case], Callable[[Result], None], AnswersSoFar], str | None]
"""Asks cases as often as they are asked, tells of each result, and says why it broke off."""


def check(settings: Config, count: int) -> None:
    """Refuse several processes where the API cannot be shared by them.

    Raises:
        UsageError: for a program, and an API that is spoken to through its standard input.
    """
    alone = settings.api.program is not None or (settings.api.command is not None and settings.api.command.stdio)
    if count > 1 and (alone or not hasattr(os, "fork")):
        raise UsageError(
            "--workers: several processes need an API that listens at an address, and a system that can fork",
            hint="Leave --workers out.",
        )


class Workers(Struct, frozen=True, kw_only=True):
    """Processes that ask.

    Attributes:
        plan: which of them asks what.
        inputs: what is measured by.
        directory: the run directory.
        api: the API, which this process has started.
        ask: asks in one of them.
        say: takes a line about what went wrong in one.
    """

    plan: Plan
    inputs: Inputs
    directory: Path
    api: Started
    ask: Ask
    say: Callable[[str], None]

    def run(self, answers: AnswersSoFar, advance: Callable[[int, int], None]) -> str | None:
        """Ask everything into `answers`; `advance` hears how many came in, and how many of them failed.

        Returns why it broke off. When a signal comes, what was answered by then is there.
        """
        folder = self.directory / FOLDER
        folder.mkdir()
        try:
            with self._processes(folder) as pipe:
                stopped = self._watch(pipe, advance)
        except KeyboardInterrupt:
            answers.results.extend(self._answered(folder))
            shutil.rmtree(folder)
            raise
        attempts = [attempt_in(self._place(folder, shard)) for shard in range(1, len(self.plan.shards) + 1)]
        why = None
        if stopped or any(attempt.problem for attempt in attempts):
            receipts = (attempt.receipt for attempt in attempts if attempt.receipt is not None)
            answered = self._answered(folder)
            # by what is there: answers may have come in while it ended
            far = stopped and f"{stopped} after {len(answered)} of {counted(sum(1 for _ in self._due()), 'call')}"
            why = far or next((receipt.stopped for receipt in receipts if receipt.stopped), None) or _DIED
            answers.results.extend(self._with_rest(answered, why))
        else:
            shards, _ = read_shards(self.plan, attempts, self.inputs)
            answers.results.extend(joined(shards).results)
        shutil.rmtree(folder)
        return why

    @contextmanager
    def _processes(self, folder: Path) -> Iterator[int]:
        """Start the processes; give where they tell of each answer. On leaving none of them is left."""
        reader, writer = os.pipe()
        try:
            with forked_processes.running() as running:
                try:
                    for shard in range(1, len(self.plan.shards) + 1):
                        forked_processes.start(partial(self._work, folder, shard, writer), running)
                except OSError as error:
                    raise CannotTell(
                        f"--workers: a process cannot be started: {error.strerror}", hint="Give fewer --workers."
                    ) from error
                finally:
                    os.close(writer)
                yield reader
        finally:
            os.close(reader)

    def _watch(self, pipe: int, advance: Callable[[int, int], None]) -> str | None:
        done = failed = 0
        while True:
            ready, _, _ = select.select([pipe], [], [], WATCH_SECONDS)
            if ready:
                news = os.read(pipe, 1 << 16)
                if not news:
                    return None
                done, failed = done + len(news), failed + news.count(b"x")
                advance(done, failed)
            ended = self.api.died()
            if ended is not None:
                return f"the API {cut(ended.message)}"

    def _work(self, folder: Path, shard: int, pipe: int) -> None:
        """Ask a shard in a process of its own, and say what goes wrong there."""
        try:
            self._ask(folder, shard, pipe)
        except RaggateError as error:
            self.say(f"process {shard}: {error.message}")
            raise
        except BaseException as error:
            self.say(f"process {shard}: {type(error).__name__}: {error}")
            raise

    def _ask(self, folder: Path, shard: int, pipe: int) -> None:
        place, parent = self._place(folder, shard), os.getppid()
        place.mkdir()
        cases = self.plan.cases(shard, self.inputs.golden)
        started, begin = now(), time.monotonic()
        answers = AnswersSoFar()
        with Journal(place / shard_directory.RESULTS) as journal:

            def keep(result: Result) -> None:
                journal.add(result)
                os.write(pipe, b"." if result.failure is None else b"x")
                if os.getppid() != parent:
                    raise CannotTell("the process that started it is gone")

            stopped = self.ask(cases, keep, answers)
        seconds = time.monotonic() - begin
        receipt = receipt_of(self.plan, shard, answers, self.inputs, started=started, seconds=seconds)
        shard_directory.complete(place, replace(receipt, stopped=stopped), [], [], journal.digest)

    def _place(self, folder: Path, shard: int) -> Path:
        return folder / shard_directory.name(self.plan, shard, 1)

    def _answered(self, folder: Path) -> list[Result]:
        """Read what was answered by processes that may have been ended in the middle of a line."""
        results: list[Result] = []
        for shard in range(1, len(self.plan.shards) + 1):
            path = self._place(folder, shard) / shard_directory.RESULTS
            if path.exists():
                results += shard_directory.begun(path)
        return results

    def _due(self) -> Iterator[tuple[Case, str, int]]:
        asking = self.inputs.config.ask
        questions = questions_of(self.inputs.golden.cases, asking.modes)
        return ((*question, repeat) for repeat in range(1, asking.repeat + 1) for question in questions)

    def _with_rest(self, answered: list[Result], why: str) -> list[Result]:
        present = {(result.case_id, result.mode, result.repeat) for result in answered}
        failure = Failure(kind="aborted", message=why)
        rest = [
            Result(
                case_id=case.id,
                mode=mode,
                response=None,
                failure=failure,
                retries=0,
                elapsed_ms=0.0,
                repeat=repeat,
            )
            for case, mode, repeat in self._due()
            if (case.id, mode, repeat) not in present
        ]
        return [*answered, *rest]


_DIED = "a process that asks ended before it was done"
