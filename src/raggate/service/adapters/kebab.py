"""kebab, which has no HTTP API, asked through its command line: cases and settings in, one result per question out.

Retrieval is asked in bulk, at most 100 questions to a process; answers one process each. Exit code 1 of `ask` is a
refusal, whose answer stands on standard output as any other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import httpx

from raggate.config.schema import PROGRAM_AND_ADAPTER, Config
from raggate.config.service_settings import Readiness
from raggate.errors import UsageError
from raggate.models.golden import Case
from raggate.models.run import Failure, Response, Result
from raggate.models.service import IndexState, Started
from raggate.service import signals
from raggate.service.adapters import kebab_process, kebab_wire
from raggate.service.adapters.kebab_process import Bounds, Ended
from raggate.service.answer_limits import bounded
from raggate.service.ask import AskResult, OnResult, questions_of
from raggate.text.jsonio import dumps
from raggate.text.numbers import setting
from raggate.text.quote import cut

BULK = 100
"""The most questions that one `search --bulk` takes."""

REFUSED = 1
"""The exit code of a refusal."""


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KebabSettings:
    """How kebab is asked.

    Attributes:
        command: the words that start it.
        config: its configuration file, handed on with `--config`.
        root: the directory it runs in.
        environment: all that it gets of an environment; `KEBAB_READONLY=1` is added.
        modes: `lexical`, `vector`, `hybrid`; every question is asked in each.
        k: how many hits are asked for, unless a case says otherwise.
        answers: whether to ask for answers too.
        bulk: whether retrieval is asked in bulk.
        concurrency: processes at once.
        timeout: seconds for one question; a bulk of n has n times as many.
        max_bytes: how much a process may print for one question.
        give_up_after: failures in a row after which no more is asked.
        on_result: called with each result, from the calling thread; what it raises ends the asking.
    """

    command: tuple[str, ...] = ("kebab",)
    config: Path | None = None
    root: Path = field(default_factory=Path)
    environment: Mapping[str, str] = field(default_factory=dict)
    modes: tuple[str, ...] = ("hybrid",)
    k: int = 10
    answers: bool = False
    bulk: bool = True
    concurrency: int = 4
    timeout: float = 60.0
    max_bytes: int = 8 << 20
    give_up_after: int = 10
    on_result: Callable[[Result], None] = _nothing


def ask_all(cases: Sequence[Case], settings: KebabSettings) -> list[Result]:
    """Ask every case in every mode; a case that names modes only in those of them that the settings have.

    Returns:
        One result per question, by mode and then by case. Questions that were not asked any more are failures of kind
        `aborted`. No process is left, also when this is interrupted.
    """
    return _Asking(questions_of(cases, settings.modes), settings).run()


class KebabAdapter:
    """Asks by the program of `api.program`, which is run for the questions. Nothing has to be up before that.

    Args:
        config: the configuration, with `api.program`.
        root: its directory, in which the program runs.
        environment: raggate's own; only what `api.program.pass_env` names is handed on.

    Raises:
        UsageError: without `api.program`.
    """

    repeatable = False

    def __init__(self, config: Config, root: Path, environment: Mapping[str, str]) -> None:
        program, ask = config.api.program, config.ask
        if program is None:
            raise UsageError(PROGRAM_AND_ADAPTER)
        passed = {name: environment[name] for name in program.pass_env if name in environment}
        self._settings = KebabSettings(
            command=tuple(program.run),
            config=root / program.config if program.config else None,
            root=root,
            environment={**passed, **program.env},
            modes=tuple(ask.modes),
            k=ask.k,
            answers=not ask.retrieval_only,
            bulk=program.bulk,
            concurrency=ask.concurrency,
            timeout=ask.total_timeout,
            max_bytes=ask.max_body_bytes,
            give_up_after=ask.give_up_after,
        )

    def index_state(self, _client: httpx.Client, _ready: Readiness) -> IndexState:
        """Say that it is ready, as it is run for each question."""
        return IndexState(healthy=True, indexing=False)

    def ask(self, questions: Sequence[tuple[Case, str]], _api: Started, *, on_result: OnResult) -> AskResult:
        """Ask these cases, each in the mode beside it."""
        done = 0

        def keep(result: Result) -> None:
            nonlocal done
            done += 1
            on_result(result, done, len(questions))

        results = _Asking(questions, replace(self._settings, on_result=keep)).run()
        failures = (result.failure for result in results if result.failure is not None)
        aborted = next((failure.message for failure in failures if failure.kind == "aborted"), None)
        return AskResult(results=tuple(results), stopped=aborted)


Question = tuple[str, Case]
_Outcome = Response | Failure


class _Asking:
    """The questions of one run, and the processes that are under way."""

    def __init__(self, questions: Sequence[tuple[Case, str]], settings: KebabSettings) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._streak = 0
        self._why = "not asked"
        self._questions = [(mode, case) for case, mode in questions]
        self._results: dict[int, Result] = {}

    def run(self) -> list[Result]:
        with ThreadPoolExecutor(max_workers=self._settings.concurrency) as pool:
            try:
                searches = dict(self._take(pool.submit(partial(self._search, batch)) for batch in self._batches()))
                if self._settings.answers:
                    rest = [index for index in searches if index not in self._results]
                    jobs = (pool.submit(partial(self._answer, index, *searches[index])) for index in sorted(rest))
                    for index, (outcome, milliseconds) in self._take(jobs):
                        self._finish(index, outcome, milliseconds)
            finally:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
        aborted = Failure(kind="aborted", message=self._why)
        return [self._results.get(index) or self._result(index, aborted, 0.0) for index in range(len(self._questions))]

    def _batches(self) -> Iterator[list[int]]:
        size = BULK if self._settings.bulk else 1
        for mode in dict.fromkeys(mode for mode, _ in self._questions):
            members = [index for index, (own, _) in enumerate(self._questions) if own == mode]
            yield from (members[start : start + size] for start in range(0, len(members), size))

    def _take(
        self, jobs: Iterable[Future[list[tuple[int, tuple[_Outcome, float]]]]]
    ) -> Iterator[tuple[int, tuple[_Outcome, float]]]:
        """Give what the jobs found as they end. A failure is final, and so is a response without need of an answer."""
        for job in as_completed(list(jobs)):
            signals.check()
            for index, (outcome, milliseconds) in job.result():
                if isinstance(outcome, Failure) and outcome.kind == "aborted":
                    continue
                if isinstance(outcome, Failure) or not self._settings.answers:
                    self._finish(index, outcome, milliseconds)
                yield index, (outcome, milliseconds)

    def _finish(self, index: int, outcome: _Outcome, milliseconds: float) -> None:
        if index in self._results or self._stop.is_set():
            return
        self._results[index] = result = self._result(index, outcome, milliseconds)
        self._streak = self._streak + 1 if result.failure else 0
        self._settings.on_result(result)
        if result.failure and self._streak >= self._settings.give_up_after:
            self._why = f"gave up after {self._streak} failures in a row; the last one: {result.failure.message}"
            self._stop.set()

    def _result(self, index: int, outcome: _Outcome, milliseconds: float) -> Result:
        mode, case = self._questions[index]
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
        if self._settings.bulk:
            outcomes = self._search_bulk([self._questions[index] for index in batch])
        else:
            outcomes = [self._search_one(self._questions[index]) for index in batch]
        share = (time.monotonic() - start) * 1000 / len(batch)
        return [(index, (outcome, share)) for index, outcome in zip(batch, outcomes, strict=True)]

    def _search_bulk(self, questions: list[Question]) -> list[_Outcome]:
        lines = [
            dumps({"query": case.question, "mode": mode, "k": case.k or self._settings.k}) for mode, case in questions
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
            _parsed(partial(kebab_wire.parse_bulk_item, answered[place], case.question))
            if place < len(answered)
            else missing
            for place, (_, case) in enumerate(questions)
        ]

    def _search_one(self, question: Question) -> _Outcome:
        mode, case = question
        words = ["search", "--mode", mode, "--k", str(case.k or self._settings.k), "--json", "--", case.question]
        ended = self._run(words, b"", 1)
        if isinstance(ended, Failure):
            return ended
        return _failure(ended, self._settings) or _parsed(partial(kebab_wire.parse_search, ended.out))

    def _answer(self, index: int, retrieved: _Outcome, milliseconds: float) -> list[tuple[int, tuple[_Outcome, float]]]:
        mode, case = self._questions[index]
        response = retrieved if isinstance(retrieved, Response) else Response(chunks=())
        words = ["ask", "--k", str(case.k or self._settings.k), "--mode", mode, "--json", "--", case.question]
        ended = self._run(words, b"", 1)
        if isinstance(ended, Failure):
            return [(index, (ended, milliseconds))]
        outcome = _failure(ended, self._settings, fine=(0, REFUSED)) or _parsed(
            lambda: _checked(kebab_wire.parse_answer(ended.out, response), ended.code)
        )
        return [(index, (outcome, milliseconds + ended.seconds * 1000))]

    def _run(self, words: Sequence[str], given: bytes, questions: int) -> Ended | Failure:
        settings = self._settings
        if self._stop.is_set():
            return Failure(kind="aborted", message=self._why)
        config = [] if settings.config is None else ["--config", str(settings.config)]
        environment = {**settings.environment, "KEBAB_READONLY": "1"}
        bounds = Bounds(seconds=settings.timeout * questions, max_bytes=settings.max_bytes * questions, stop=self._stop)
        try:
            return kebab_process.run(
                [*settings.command, *config, *words], given, bounds, cwd=settings.root, environment=environment
            )
        except (OSError, ValueError) as error:
            message = f"cannot run {cut(settings.command[0])}: {error}"
            return Failure(kind="connection", message=message)


def _parsed(read: Callable[[], Response]) -> _Outcome:
    try:
        return bounded(read())
    except kebab_wire.Refused as error:
        return error.failure
    except ValueError as error:
        return Failure(kind="schema", message=cut(error))


def _checked(response: Response, code: int) -> Response:
    if code == REFUSED and response.grounded:
        raise ValueError("grounded: exit code 1 means a refusal, but the answer says that it is grounded")
    return response


def _failure(ended: Ended, settings: KebabSettings, *, fine: tuple[int, ...] = (0,)) -> Failure | None:
    """Say why a process failed: it was killed, it says so itself, or its exit code is none of the fine ones."""
    if ended.cut == "timeout":
        return Failure(kind="timeout", message=f"no end within {setting(settings.timeout)} s for each question")
    if ended.cut == "size":
        return Failure(kind="body", message=f"it printed more than {settings.max_bytes} bytes for each question")
    if ended.cut == "stopped":
        return Failure(kind="aborted", message="stopped")
    if ended.code in fine and (ended.code == 0 or ended.out.strip()):
        return None
    try:
        failure = kebab_wire.find_error(ended.errors)
    except ValueError as error:
        return Failure(kind="schema", message=cut(error))
    if failure is not None:
        return failure
    last = cut(ended.errors[-2000:].decode("utf-8", "replace"), limit=200)
    how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with code {ended.code}"
    return Failure(kind="status", message=f"kebab {how}{f': {last}' if last else ''}")
