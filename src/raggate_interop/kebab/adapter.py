"""kebab, which has no HTTP API, asked through its command line: cases and settings in, one result per question out.

Retrieval is asked in bulk, at most 100 questions to a process; answers one process each. Exit code 1 of `ask` is a
refusal, whose answer stands on standard output as any other.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, convert, field
from msgspec.structs import replace

from raggate.base.headings import written
from raggate.base.http_client import httpx
from raggate.base.jsonio import dumps, fields, loads
from raggate.base.numbers import setting
from raggate.base.quote import cut
from raggate.base.redact import Guarded
from raggate.config.ask_settings import Ask
from raggate.config.schema import Config
from raggate.config.service_settings import Api, Readiness
from raggate.models.golden import Case
from raggate.models.run import Chunk, Failure, FailureKind, Reference, Response, Result
from raggate.models.service import IndexState, ProcessExit, Started, Workspace
from raggate.service import signals
from raggate.service.adapters.ask import parsed
from raggate.service.answer_limits import MAX_BODY_BYTES, bounded
from raggate.service.ask import GIVE_UP_AFTER, AskResult, OnResult

if TYPE_CHECKING:
    from raggate.service.backends.command import Plan, Prepared

MAX_HITS = 1_000
MAX_CITATIONS = 1_000
MAJOR = 1
MAX_ERRORS = 256 << 10
"""How much of the end of the error output is read, in bytes."""
BULK = 100
"""The most questions that one `search --bulk` takes."""
REFUSED = 1
"""The exit code of a refusal."""

_VERSION = re.compile(r"([a-z_]{1,60})\.v([0-9]{1,6})(?:\.[0-9]{1,6})?")
_KINDS: dict[str, FailureKind] = {"timeout": "timeout", "model_unreachable": "connection"}
_POLL = 0.02
_Outcome = Response | Failure
_Wire = TypeVar("_Wire", bound="_Versioned")


class _Versioned(Struct):
    schema_version: str = ""


class _Scores(Struct):
    fusion_score: float | None = None
    vector_score: float | None = None
    lexical_score: float | None = None


class _Hit(_Versioned, kw_only=True):
    rank: Annotated[int, Meta(ge=1)]
    chunk_id: str
    doc_id: str
    doc_path: str
    snippet: str
    heading_path: tuple[str, ...] = ()
    score: float | None = None
    retrieval: _Scores | None = None
    chunker_version: str | None = None
    index_version: str | None = None


class _Search(_Versioned, kw_only=True):
    hits: Annotated[tuple[_Hit, ...], Meta(max_length=MAX_HITS)]


class _Item(_Versioned, kw_only=True):
    query: Any = None
    response: Any = None
    error: Any = None


class _CitedPlace(Struct):
    path: str
    section: Any = None


class _Citation(Struct):
    citation: _CitedPlace


class _Answer(_Versioned, kw_only=True):
    answer: str
    grounded: bool
    citations: Annotated[tuple[_Citation, ...], Meta(max_length=MAX_CITATIONS)]
    refusal_reason: str | None = None
    model: Any = None


class _Error(_Versioned, kw_only=True):
    code: str
    message: str
    hint: Any = None


class Refused(ValueError):
    """kebab said itself that it failed. `failure` tells how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def parse_bulk_item(line: bytes, question: str) -> Response:
    """Read one bulk_search_item.v1, which must be about the question. `coverage` holds what all hits agree on.

    Raises:
        Refused: when the item is an error.
        ValueError: when it is none, with what was expected. Untrusted text.
    """
    item = _read(parsed(line), _Item, "bulk_search_item")
    if fields(item.query).get("query") != question:
        raise ValueError("query: expected the question asked here")
    if item.error is not None:
        raise Refused(_failure(item.error))
    return _found(_read(item.response, _Search, "search_response", required=False))


def parse_answer(data: bytes, retrieved: Response) -> Response:
    """Read an answer.v1, and put it together with what was retrieved. One that is not grounded abstains.

    Raises:
        ValueError: as `parse_bulk_item`.
    """
    answer = _read(parsed(data), _Answer, "answer")
    places = [item.citation for item in answer.citations]
    model = fields(answer.model).get("id")
    return replace(
        retrieved,
        answer=answer.answer,
        references=tuple(
            Reference(vault="", rel_path=place.path, heading_path=_text(place.section) or "", chunk_index=0)
            for place in places
        ),
        abstained=not answer.grounded,
        abstain_reason=answer.refusal_reason,
        grounded=answer.grounded,
        model=_text(model) or None,
    )


def find_error(errors: bytes) -> Failure | None:
    """Find the last error.v1 among the lines of an error output; None without one.

    Raises:
        ValueError: for an error of another version.
    """
    for line in reversed(errors.split(b"\n")):
        with contextlib.suppress(ValueError):
            value = fields(loads(line))
            if str(value.get("schema_version", "")).startswith("error."):
                break
    else:
        return None
    return _failure(value)


def _failure(raw: object) -> Failure:
    error = _read(raw, _Error, "error", required=False)
    message = f"kebab: {cut(error.code, limit=60)}: {cut(error.message)}"
    if hint := (_text(error.hint) or "").strip():
        message += f" ({cut(hint, limit=120)})"
    return Failure(kind=_KINDS.get(error.code, "status"), message=message)


def _found(search: _Search) -> Response:
    versions = {}
    for name in ("chunker_version", "index_version"):
        stated = {getattr(hit, name) for hit in search.hits}
        if len(stated) == 1 and (only := stated.pop()):
            versions[name] = only
    return Response(chunks=tuple(map(_chunk, search.hits)), coverage=versions or None)


def _chunk(hit: _Hit) -> Chunk:
    _check_version(hit.schema_version, "search_hit", required=False)
    scores = hit.retrieval or _Scores()
    return Chunk(
        chunk_id=hit.chunk_id,
        rel_path=hit.doc_path,
        heading_path=written(hit.heading_path),
        text=hit.snippet,
        rank=hit.rank,
        score_final=scores.fusion_score if hit.score is None else hit.score,
        score_vector=scores.vector_score,
        score_lexical=scores.lexical_score,
        doc_id=hit.doc_id,
    )


def _read(value: object, kind: type[_Wire], name: str, *, required: bool = True) -> _Wire:
    """Check a value by its type and version; a value inside another may lack the version."""
    _check_version(fields(value).get("schema_version"), name, required=required)
    return convert(value, kind)


def _check_version(stated: object, name: str, *, required: bool) -> None:
    if not stated and not required:
        return
    version = _VERSION.fullmatch(stated) if isinstance(stated, str) else None
    if version is None or version[1] != name or int(version[2]) != MAJOR:
        raise ValueError(f"schema_version: this adapter speaks {name}.v{MAJOR}, found {cut(stated)}")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Ended(Struct, frozen=True, kw_only=True):
    """How a command ended. `code` is negative for a signal; `cut` says why it was killed, if it was."""

    code: int
    out: bytes
    errors: bytes
    cut: Literal["timeout", "size", "stopped"] | None
    seconds: float


class Bounds(Struct, frozen=True, kw_only=True):
    """How long a command may take in seconds, how many bytes it may print, and what stops it from outside."""

    seconds: float
    max_bytes: int
    stop: threading.Event


def run(words: Sequence[str], given: bytes, bounds: Bounds, *, cwd: Path, environment: Mapping[str, str]) -> Ended:
    """Run a command in a process group of its own, which is killed when it ends, in whatever way.

    It reads and writes files, as a process that it leaves behind could hold pipes open for ever. A process that leaves
    the group is for whoever opened the `ProcessGroup` around it.

    Raises:
        OSError: when it cannot be executed.
        ValueError: for words that no process can be given, such as one with a NUL.
    """
    start = time.monotonic()
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        asked.write(given)
        asked.seek(0)
        process = subprocess.Popen(
            words, cwd=cwd, env=dict(environment), stdin=asked, stdout=out, stderr=errors, start_new_session=True
        )
        try:
            cut = _wait(process, (out, errors), bounds, start + bounds.seconds)
        finally:
            # not yet collected, so that the number of the group cannot be somebody else's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        out.seek(0)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - MAX_ERRORS))
        printed, said = out.read(bounds.max_bytes), errors.read(MAX_ERRORS)
    return Ended(code=code, out=printed, errors=said, cut=cut, seconds=time.monotonic() - start)


def _wait(
    process: subprocess.Popen[bytes], written: Iterable[IO[bytes]], bounds: Bounds, end: float
) -> Literal["timeout", "size", "stopped"] | None:
    """Wait until a process has ended, or say why it must."""
    pause = _POLL / 16
    while not bounds.stop.is_set():
        if any(os.fstat(stream.fileno()).st_size > bounds.max_bytes for stream in written):
            return "size"
        if _has_ended(process):
            return None
        if time.monotonic() >= end:
            return "timeout"
        time.sleep(pause)
        pause = min(pause * 2, _POLL)
    return "stopped"


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # raggate was started with SIGCHLD ignored
        return True


@contextlib.contextmanager
def start(api: Api, workspace: Workspace) -> Iterator[Started]:
    """Run the build steps of `api.command`; on leaving, no process that the program left behind is there any more."""
    from raggate.service.backends.command import prepared

    with prepared(api, workspace) as made:
        yield _Runnable(made)


class _Runnable:
    """A program that is nothing between two questions."""

    base_url = ""

    def __init__(self, made: Prepared) -> None:
        self.made = made

    def died(self) -> ProcessExit | None:
        """Return which of its services has ended and how, or None while they run."""
        return self.made.lost()

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of its log, which only its services write."""
        return self.made.log.tail()


class KebabAdapter:
    """Asks by the program of `api.command`, which is run for the questions. Its build steps are run before that."""

    start = staticmethod(start)

    def __init__(self, config: Config, _root: Path, _environment: Mapping[str, str]) -> None:
        self._settings = config.ask

    def index_state(self, _client: httpx.Client, _ready: Readiness) -> IndexState:
        """Always ready: it is run for each question."""
        return IndexState(healthy=True, indexing=False)

    def with_headers(self, _headers: Mapping[str, str]) -> KebabAdapter:
        """Refuse: a program is sent no headers, and no configuration asks for that."""
        raise NotImplementedError

    def ask(
        self,
        questions: Sequence[tuple[Case, str]],
        api: Started,
        *,
        on_result: OnResult,
        collect: bool = True,
    ) -> AskResult:
        """Ask these cases, each in the mode beside it. No process under way is left, also when this is interrupted."""
        made: Prepared = getattr(api, "made")  # noqa: B009 - not of every started API
        environment = {**made.plan.environment, "KEBAB_READONLY": "1", **made.group.mark}
        return _Asking(questions, self._settings, made.plan, environment, on_result).run()


class _Asking(Guarded, Struct):
    """The questions of one run, and the processes that are under way."""

    _questions: Sequence[tuple[Case, str]]
    _settings: Ask
    _plan: Plan
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
        for mode in dict.fromkeys(mode for _, mode in self._questions):
            members = [index for index, (_, own) in enumerate(self._questions) if own == mode]
            yield from (members[start : start + BULK] for start in range(0, len(members), BULK))

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
        if result.failure and self._streak >= GIVE_UP_AFTER:
            self._why = f"gave up after {self._streak} failures in a row. The last one: {result.failure.message}"
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
        outcomes = self._search_bulk([self._questions[index] for index in batch])
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
        failed = _exit_failure(ended, self._settings)
        if failed is not None and ended.cut is None:
            # it says that it failed, and not where: no line of it is trusted. An item that fails alone ends with 0
            return [failed] * len(questions)
        missing = failed or Failure(kind="schema", message="expected a line, found nothing")
        return [
            _parsed(partial(parse_bulk_item, answered[place], case.question)) if place < len(answered) else missing
            for place, (case, _) in enumerate(questions)
        ]

    def _answer(self, index: int, retrieved: _Outcome, milliseconds: float) -> list[tuple[int, tuple[_Outcome, float]]]:
        case, mode = self._questions[index]
        response = retrieved if isinstance(retrieved, Response) else Response(chunks=())
        words = ["ask", "--k", str(case.k or self._settings.k), "--mode", mode, "--json", "--", case.question]
        ended = self._run(words, b"", 1)
        if isinstance(ended, Failure):
            return [(index, (ended, milliseconds))]
        outcome = _exit_failure(ended, self._settings, fine=(0, REFUSED)) or _parsed(
            lambda: _checked(parse_answer(ended.out, response), ended.code)
        )
        return [(index, (outcome, milliseconds + ended.seconds * 1000))]

    def _run(self, words: Sequence[str], given: bytes, questions: int) -> Ended | Failure:
        if self._stop.is_set():
            return Failure(kind="aborted", message=self._why)
        settings, plan = self._settings, self._plan
        bounds = Bounds(seconds=settings.timeout * questions, max_bytes=MAX_BODY_BYTES * questions, stop=self._stop)
        try:
            return run([*plan.run, *words], given, bounds, cwd=plan.cwd, environment=self._environment)
        except (OSError, ValueError) as error:
            return Failure(kind="connection", message=f"cannot run {cut(plan.run[0])}: {error}")


def _parsed(read: Callable[[], Response]) -> _Outcome:
    try:
        return bounded(read())
    except Refused as error:
        return error.failure
    except ValueError as error:
        return Failure(kind="schema", message=cut(error))


def _checked(response: Response, code: int) -> Response:
    if code == REFUSED and response.grounded:
        raise ValueError("grounded: exit code 1 means a refusal, but the answer claims to be grounded")
    return response


def _exit_failure(ended: Ended, settings: Ask, *, fine: tuple[int, ...] = (0,)) -> Failure | None:
    """Return why a process failed: it was killed, it says so itself, or its exit code is none of the fine ones."""
    if ended.cut == "timeout":
        return Failure(kind="timeout", message=f"no end within {setting(settings.timeout)} s for each question")
    if ended.cut == "size":
        return Failure(kind="body", message=f"it printed more than {MAX_BODY_BYTES} bytes for each question")
    if ended.cut == "stopped":
        return Failure(kind="aborted", message="stopped")
    if ended.code in fine and (ended.code == 0 or ended.out.strip()):
        return None
    try:
        failure = find_error(ended.errors)
    except ValueError as error:
        return Failure(kind="schema", message=cut(error))
    if failure is not None:
        return failure
    last = cut(ended.errors[-2000:].decode("utf-8", "replace"), limit=200)
    how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with code {ended.code}"
    return Failure(kind="status", message=f"kebab {how}{f': {last}' if last else ''}")
