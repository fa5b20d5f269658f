"""Cases and modes in, results out: every question is asked, bounded in time, in size and in number at once."""

from __future__ import annotations

import asyncio
import secrets
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.numbers import counted, setting
from raggate.base.quote import cut
from raggate.config.ask_settings import Ask
from raggate.config.question_settings import asked_in
from raggate.models.golden import Case, Question
from raggate.models.run import Failure, Response, Result
from raggate.models.service import Started
from raggate.service import misses, signals
from raggate.service.misses import Miss, miss

WATCH_SECONDS = 0.05
"""How often the API is looked at while questions are under way."""
BACK_OFF_SECONDS = 0.1
"""Pause before the first retry; it doubles with every further one."""
RETRIES = 2
"""How often a question is asked again after 502, 503 or a lost connection. Each retry is counted and shown."""
GIVE_UP_AFTER = 10
"""After so many failures in a row nothing more is asked."""
OnResult = Callable[[Result, int, int], None]
"""Called with each result as it comes in, the number of results so far, and the number of questions."""
HEADER = "traceparent"
_SAMPLED = "01"


class AskResult(Struct, frozen=True, kw_only=True):
    """What came of asking: one result per question, by mode and then by case, whatever order they came in.

    Where results were not to be collected, those of the questions that were left over alone. `stopped` says in a
    sentence why not everything was asked; the questions left over are failures of kind `aborted`.
    """

    results: Sequence[Result]
    stopped: str | None

    def unasked(self) -> Iterator[Result]:
        """Yield the failures of the questions that were left over."""
        for result in self.results if self.stopped is not None else ():
            if result.failure is not None and result.failure.kind == "aborted":
                yield result


class Channel:
    """The way to an API for the time of one asking. What its methods raise are `misses.UNANSWERED`."""

    async def opened(self) -> None:
        """Make sure that questions can be asked. What that takes is no part of a question's time."""

    async def attempt(self, case: Case, mode: str, traceparent: str) -> Response:
        """Ask one case in one mode once."""
        raise NotImplementedError

    def late(self) -> str:
        """Return what came in place of an answer that did not come in time."""
        return ""


Connect = Callable[[int], AbstractAsyncContextManager[Channel]]
"""Opens a way for so many questions at once; on leaving, nothing of it is left."""


def questions_of(cases: Sequence[Case], modes: Sequence[str]) -> list[Question]:
    """Return every case in every mode, by mode and then by case; a case that names modes only in those of them."""
    return [(case, mode) for mode in dict.fromkeys(modes) for case in cases if asked_in(case.modes, mode)]


def ask(
    questions: Sequence[tuple[Case, str]],
    connect: Connect,
    api: Started,
    settings: Ask,
    *,
    on_result: OnResult,
    collect: bool = True,
) -> AskResult:
    """Ask these cases, each in the mode beside it, until the API dies.

    `on_result` is called from the same thread for every answer and failure, never for an aborted question. What it
    raises ends the asking and is passed on, as is an interrupt: by then every request has been dropped. Without
    `collect`, the results that it had already are not given at the end.
    """
    signals.check()
    with signals.deferred() as came:
        suite = _Suite(questions, connect, api, settings, on_result, came, collect)
        if questions:
            asyncio.run(suite.run())
    if suite.interrupt:
        raise suite.interrupt
    return AskResult(results=suite.results(), stopped=suite.stopped)


def ended_early(api: Started) -> str | None:
    """Return how an API ended that was answered by to the last question, None while it lives: it may die of that."""
    time.sleep(WATCH_SECONDS)
    ended = api.died()
    return None if ended is None else f"the API {cut(ended.message)} right after its last answer"


class _Stop(Exception):
    """Nothing more is to be asked; `_Suite.stopped` says why."""


@dataclass
class _Suite:
    """The questions of one run and how far they have come."""

    _questions: Sequence[tuple[Case, str]]
    _connect: Connect
    _api: Started
    _settings: Ask
    _on_result: OnResult
    _came: Sequence[int]
    _collects: bool
    stopped: str | None = None
    interrupt: BaseException | None = None
    _done: int = 0
    _streak: int = 0

    def __post_init__(self) -> None:
        self._waiting = iter(range(len(self._questions)))
        self._results: list[Result | None] = [None] * len(self._questions)
        self._asked = bytearray(len(self._questions))
        self._next_turn = 0.0

    def results(self) -> Sequence[Result]:
        failure = Failure(kind="aborted", message=self.stopped or "not asked")
        for index, question in enumerate(self._questions):
            if not self._asked[index]:
                self._results[index] = _failed(*question, failure)
        return tuple(result for result in self._results if result is not None)

    async def run(self) -> None:
        """Ask until everything is answered or there is a reason to stop. Leaves no task and no connection behind."""
        workers = min(self._settings.concurrency, len(self._questions))
        async with self._connect(workers) as channel:
            try:
                async with asyncio.TaskGroup() as group:
                    watcher = group.create_task(self._guard(self._watch))
                    jobs = [self._guard(partial(self._work, channel)) for _ in range(workers)]
                    await asyncio.wait([group.create_task(job) for job in jobs])
                    watcher.cancel()
            except BaseExceptionGroup as errors:
                unexpected = errors.split(_Stop)[1]
                if unexpected:
                    raise unexpected.exceptions[0] from None

    async def _guard(self, job: Callable[[], Awaitable[None]]) -> None:
        try:
            await job()
        except (KeyboardInterrupt, SystemExit) as error:
            # raised from within a task it would tear the event loop down half closed, so it is raised after it
            self.interrupt = error
            raise _Stop from None

    async def _watch(self) -> None:
        while True:
            if self._came:
                raise KeyboardInterrupt
            self._check_alive()
            await asyncio.sleep(WATCH_SECONDS)

    def _check_alive(self) -> None:
        ended = self._api.died()
        if ended is not None:
            self._stop(f"the API {cut(ended.message)} after {self._done} of {counted(len(self._questions), 'call')}")

    def _stop(self, why: str) -> None:
        self.stopped = self.stopped or why
        raise _Stop

    async def _work(self, channel: Channel) -> None:
        for index in self._waiting:
            case, mode = self._questions[index]
            await self._turn()
            result = await self._ask(channel, case, mode)
            if result.failure and result.failure.kind == "connection":
                # tell a dead API from a bad connection as soon as its end can be seen
                await asyncio.sleep(WATCH_SECONDS)
                self._check_alive()
            self._take(index, result)

    async def _turn(self) -> None:
        """Wait until `ask.rate` lets the next question start."""
        if self._settings.rate is not None:
            now = time.perf_counter()
            turn = max(now, self._next_turn)
            self._next_turn = turn + 1 / self._settings.rate
            await asyncio.sleep(turn - now)

    def _take(self, index: int, result: Result) -> None:
        if self.stopped is not None:
            # the reason tells how many were asked, and another worker may have an answer at the same moment
            raise _Stop
        self._asked[index] = True
        if self._collects:
            self._results[index] = result
        self._done += 1
        self._streak = self._streak + 1 if result.failure else 0
        self._on_result(result, self._done, len(self._questions))
        if result.failure and self._streak >= GIVE_UP_AFTER and self._done < len(self._questions):
            self._stop(
                f"gave up after {counted(self._streak, 'failure')} in a row, after {self._done} of "
                f"{counted(len(self._questions), 'call')}. The last one: {result.failure.message}"
            )

    async def _ask(self, channel: Channel, case: Case, mode: str) -> Result:
        """Ask one question, retries included, within its total time."""
        settings = self._settings
        # random: no run, machine or fork of a repository shares one with another
        trace_id = secrets.token_hex(16)
        outcome: Response | Miss | None = None
        retries = 0
        start = time.perf_counter()
        elapsed = 0.0
        try:
            async with asyncio.timeout(settings.timeout):
                while True:
                    start, outcome = time.perf_counter(), None
                    try:
                        await channel.opened()
                        start = time.perf_counter()
                        outcome = await channel.attempt(case, mode, traceparent(trace_id))
                    except misses.UNANSWERED as error:
                        outcome = misses.unanswered(error, case.id)
                    elapsed = time.perf_counter() - start
                    if isinstance(outcome, Response) or not outcome.again or retries >= RETRIES:
                        break
                    await asyncio.sleep(_back_off(f"{case.id}|{mode}", retries))
                    retries += 1
        except TimeoutError:
            elapsed = elapsed if outcome else time.perf_counter() - start
            message = f"no answer within {setting(settings.timeout)} s"
            if isinstance(outcome, Miss):
                message += f". Before that: {outcome.failure.message}"
            outcome = miss("timeout", message + channel.late())
        if isinstance(outcome, Miss):
            result = _failed(case, mode, outcome.failure)
        else:
            result = Result(case_id=case.id, mode=mode, response=outcome, failure=None, retries=0, elapsed_ms=0.0)
        return replace(result, retries=retries, elapsed_ms=elapsed * 1000, trace_id=trace_id)


def _failed(case: Case, mode: str, failure: Failure) -> Result:
    return Result(case_id=case.id, mode=mode, response=None, failure=failure, retries=0, elapsed_ms=0.0)


def _back_off(key: str, retries: int) -> float:
    """Return the pause before the next attempt in seconds: doubling, up to a quarter longer, the same in every run."""
    jitter = zlib.crc32(f"{key}|{retries}".encode()) / (1 << 32) / 4
    return BACK_OFF_SECONDS * (1 << retries) * (1 + jitter)


def traceparent(trace_id: str) -> str:
    """The value that one attempt is sent with: the question's trace, a span of its own, and a wish to be kept."""
    return f"00-{trace_id}-{secrets.token_hex(8)}-{_SAMPLED}"
