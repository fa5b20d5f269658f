"""kebab, which has no HTTP API, asked through its command line: cases and settings in, one result per question out.

Retrieval is asked in bulk, at most 100 questions to a process; answers one process each. Exit code 1 of `ask` is a
refusal, whose answer stands on standard output as any other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from raggate.config.ask_settings import Ask
from raggate.config.probe_settings import Reindex
from raggate.config.schema import Config, program_and_adapter
from raggate.config.service_settings import Program, Readiness
from raggate.errors import UsageError
from raggate.models.golden import Case
from raggate.models.run import Failure, Response, Result
from raggate.models.service import IndexState, Started
from raggate.service import signals
from raggate.service.answer_limits import bounded
from raggate.service.ask import AskResult, OnResult
from raggate.text.guarded import Guarded
from raggate.text.http_client import httpx
from raggate.text.jsonio import dumps
from raggate.text.numbers import setting
from raggate.text.quote import cut
from raggate_interop.kebab import process, wire
from raggate_interop.kebab.process import Bounds, Ended

BULK = 100
"""The most questions that one `search --bulk` takes."""

REFUSED = 1
"""The exit code of a refusal."""


class KebabAdapter:
    """Asks by the program of `api.program`, which is run for the questions. Nothing has to be up before that.

    Args:
        config: the configuration, with `api.program`.
        root: its directory, in which the program runs.
        environment: raggate's own; only what `api.program.pass_env` names is handed on.

    Raises:
        UsageError: without `api.program`.
    """

    def __init__(self, config: Config, root: Path, environment: Mapping[str, str]) -> None:
        program = config.api.program
        if program is None:
            raise UsageError(program_and_adapter())
        passed = {name: environment[name] for name in program.pass_env if name in environment}
        self._settings = config.ask
        self._program = program
        self._root = root
        self._own_environment = environment
        self._environment = {**passed, **program.env, "KEBAB_READONLY": "1"}

    def index_state(self, _client: httpx.Client, _ready: Readiness) -> IndexState:
        """Say that it is ready, as it is run for each question."""
        return IndexState(healthy=True, indexing=False)

    def reindex(self, _api: Started, _call: Reindex) -> str:
        """Refuse: a program is told nothing by HTTP, and no configuration asks for that."""
        raise NotImplementedError

    def with_headers(self, _headers: Mapping[str, str]) -> KebabAdapter:
        """Refuse: a program is sent no headers, and no configuration asks for that."""
        raise NotImplementedError

    def ask(
        self,
        questions: Sequence[tuple[Case, str]],
        _api: Started,
        *,
        on_result: OnResult,
        collect: bool = True,
    ) -> AskResult:
        """Ask these cases, each in the mode beside it. No process is left, also when this is interrupted."""
        from raggate.service.backends.processes import ProcessGroup

        with ProcessGroup(self._own_environment) as group:
            environment = {**self._environment, **group.mark}
            return _Asking(questions, self._settings, self._program, self._root, environment, on_result).run()


_Outcome = Response | Failure


class _Asking(Guarded, Struct):
    """The questions of one run, and the processes that are under way."""

    _questions: Sequence[tuple[Case, str]]
    _settings: Ask
    _program: Program
    _root: Path
    _environment: Mapping[str, str]
    _on_result: OnResult
    _stop: threading.Event = field(default_factory=threading.Event)
    _streak: int = 0
    _why: str = "not asked"
    _results: dict[int, Result] = field(default_factory=dict)

    def run(self) -> AskResult:
        with ThreadPoolExecutor(max_workers=self._settings.concurrency) as pool:
            try:
                searches = dict(self._take(pool.submit(self._search, batch) for batch in self._batches()))
                if not self._settings.retrieval_only:
                    rest = [index for index in searches if index not in self._results]
                    jobs = (pool.submit(self._answer, index, *searches[index]) for index in sorted(rest))
                    for index, (outcome, milliseconds) in self._take(jobs):
                        self._finish(index, outcome, milliseconds)
            finally:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
        indices = range(len(self._questions))
        aborted = Failure(kind="aborted", message=self._why)
        results = tuple(self._results.get(index) or self._result(index, aborted, 0.0) for index in indices)
        return AskResult(results=results, stopped=None if len(self._results) == len(indices) else self._why)

    def _batches(self) -> Iterator[list[int]]:
        size = BULK if self._program.bulk else 1
        for mode in dict.fromkeys(mode for _, mode in self._questions):
            members = [index for index, (_, own) in enumerate(self._questions) if own == mode]
            yield from (members[start : start + size] for start in range(0, len(members), size))

    def _take(
        self, jobs: Iterable[Future[list[tuple[int, tuple[_Outcome, float]]]]]
    ) -> Iterator[tuple[int, tuple[_Outcome, float]]]:
        """Yield what the jobs found as they end. A failure is final, and so is a response without need of an answer."""
        for job in as_completed(list(jobs)):
            signals.check()
            for index, (outcome, milliseconds) in job.result():
                if isinstance(outcome, Failure) and outcome.kind == "aborted":
                    continue
                if isinstance(outcome, Failure) or self._settings.retrieval_only:
                    self._finish(index, outcome, milliseconds)
                yield index, (outcome, milliseconds)

    def _finish(self, index: int, outcome: _Outcome, milliseconds: float) -> None:
        if index in self._results or self._stop.is_set():
            return
        self._results[index] = result = self._result(index, outcome, milliseconds)
        self._streak = self._streak + 1 if result.failure else 0
        self._on_result(result, len(self._results), len(self._questions))
        if result.failure and self._streak >= self._settings.give_up_after:
            self._why = f"gave up after {self._streak} failures in a row; the last one: {result.failure.message}"
            self._stop.set()

    def _result(self, index: int, outcome: _Outcome, milliseconds: float) -> Result:
        case, mode = self._questions[index]
        return Result(
            case_id=case.id,
            mode=mode,
            response=outcome if isinstance(outcome, Response) else None,
            failure=outcome if isinstance(outcome, Failure) else None,
            retries=0,
            elapsed_ms=milliseconds,
        )

    def _search(self, batch: list[int]) -> list[tuple[int, tuple[_Outcome, float]]]:
        """Ask for the hits of some questions; the time of a bulk is shared evenly."""
        start = time.monotonic()
        outcomes: list[_Outcome]
        if self._program.bulk:
            outcomes = self._search_bulk([self._questions[index] for index in batch])
        else:
            outcomes = [self._search_one(*self._questions[index]) for index in batch]
        share = (time.monotonic() - start) * 1000 / len(batch)
        return [(index, (outcome, share)) for index, outcome in zip(batch, outcomes, strict=True)]

    def _search_bulk(self, questions: Sequence[tuple[Case, str]]) -> list[_Outcome]:
        lines = [
            dumps({"query": case.question, "mode": mode, "k": case.k or self._settings.k}) for case, mode in questions
        ]
        ended = self._run(["search", "--bulk", "--json"], b"\n".join(lines) + b"\n", len(questions))
        if isinstance(ended, Failure):
            return [ended] * len(questions)
        # what comes after the last line break was cut off
        answered = [line for line in ended.out.split(b"\n")[:-1] if line.strip()]
        if len(answered) > len(questions):
            message = f"expected {len(questions)} lines, found {len(answered)}"
            return [Failure(kind="schema", message=message)] * len(questions)
        failed = _failure(ended, self._settings)
        if failed is not None and ended.cut is None:
            # it says that it failed, and not where: no line of it is trusted. An item that fails alone ends with 0
            return [failed] * len(questions)
        missing = failed or Failure(kind="schema", message="expected a line, found nothing")
        return [
            _parsed(partial(wire.parse_bulk_item, answered[place], case.question)) if place < len(answered) else missing
            for place, (case, _) in enumerate(questions)
        ]

    def _search_one(self, case: Case, mode: str) -> _Outcome:
        words = ["search", "--mode", mode, "--k", str(case.k or self._settings.k), "--json", "--", case.question]
        ended = self._run(words, b"", 1)
        if isinstance(ended, Failure):
            return ended
        return _failure(ended, self._settings) or _parsed(partial(wire.parse_search, ended.out))

    def _answer(self, index: int, retrieved: _Outcome, milliseconds: float) -> list[tuple[int, tuple[_Outcome, float]]]:
        case, mode = self._questions[index]
        response = retrieved if isinstance(retrieved, Response) else Response(chunks=())
        words = ["ask", "--k", str(case.k or self._settings.k), "--mode", mode, "--json", "--", case.question]
        ended = self._run(words, b"", 1)
        if isinstance(ended, Failure):
            return [(index, (ended, milliseconds))]
        outcome = _failure(ended, self._settings, fine=(0, REFUSED)) or _parsed(
            lambda: _checked(wire.parse_answer(ended.out, response), ended.code)
        )
        return [(index, (outcome, milliseconds + ended.seconds * 1000))]

    def _run(self, words: Sequence[str], given: bytes, questions: int) -> Ended | Failure:
        if self._stop.is_set():
            return Failure(kind="aborted", message=self._why)
        settings, program = self._settings, self._program
        config = ["--config", str(self._root / program.config)] if program.config else []
        bounds = Bounds(
            seconds=settings.total_timeout * questions, max_bytes=settings.max_body_bytes * questions, stop=self._stop
        )
        try:
            return process.run(
                [*program.run, *config, *words], given, bounds, cwd=self._root, environment=self._environment
            )
        except (OSError, ValueError) as error:
            return Failure(kind="connection", message=f"cannot run {cut(program.run[0])}: {error}")


def _parsed(read: Callable[[], Response]) -> _Outcome:
    try:
        return bounded(read())
    except wire.Refused as error:
        return error.failure
    except ValueError as error:
        return Failure(kind="schema", message=cut(error))


def _checked(response: Response, code: int) -> Response:
    if code == REFUSED and response.grounded:
        raise ValueError("grounded: exit code 1 means a refusal, but the answer says that it is grounded")
    return response


def _failure(ended: Ended, settings: Ask, *, fine: tuple[int, ...] = (0,)) -> Failure | None:
    """Return why a process failed: it was killed, it says so itself, or its exit code is none of the fine ones."""
    if ended.cut == "timeout":
        return Failure(kind="timeout", message=f"no end within {setting(settings.total_timeout)} s for each question")
    if ended.cut == "size":
        return Failure(kind="body", message=f"it printed more than {settings.max_body_bytes} bytes for each question")
    if ended.cut == "stopped":
        return Failure(kind="aborted", message="stopped")
    if ended.code in fine and (ended.code == 0 or ended.out.strip()):
        return None
    try:
        failure = wire.find_error(ended.errors)
    except ValueError as error:
        return Failure(kind="schema", message=cut(error))
    if failure is not None:
        return failure
    last = cut(ended.errors[-2000:].decode("utf-8", "replace"), limit=200)
    how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with code {ended.code}"
    return Failure(kind="status", message=f"kebab {how}{f': {last}' if last else ''}")
