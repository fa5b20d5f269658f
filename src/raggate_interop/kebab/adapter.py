"""kebab, which has no HTTP API, asked through its command line: cases and settings in, one result per question out.

Retrieval is asked in bulk, at most 100 questions to a process; answers one process each. Exit code 1 of `ask` is a
refusal, whose answer stands on standard output as any other.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.field_paths import ABSENT, joined, kind_of
from raggate.base.headings import written
from raggate.base.http_client import httpx
from raggate.base.jsonio import dumps, loads
from raggate.base.numbers import setting
from raggate.base.quote import cut
from raggate.base.redact import Guarded
from raggate.config.ask_settings import Ask
from raggate.config.schema import Config, program_and_adapter
from raggate.config.service_settings import Program, Readiness
from raggate.models.golden import Case
from raggate.models.run import Chunk, Failure, FailureKind, Reference, Response, Result
from raggate.models.service import IndexState, Started
from raggate.service import signals
from raggate.service.adapters.ask import parsed
from raggate.service.answer_limits import MAX_BODY_BYTES, bounded
from raggate.service.ask import GIVE_UP_AFTER, AskResult, OnResult

MAX_HITS = 1_000
MAX_CITATIONS = 1_000
MAJOR = 1

_VERSION = re.compile(r"([a-z_]{1,60})\.v([0-9]{1,6})(?:\.[0-9]{1,6})?")
_KINDS: dict[str, FailureKind] = {"timeout": "timeout", "model_unreachable": "connection"}
_VERSIONS = ("chunker_version", "index_version")


_PIECE = 1 << 16
_POLL = 0.02
_DRAIN = 0.3
MAX_ERRORS = 256 << 10
"""How much of the error output is kept, in bytes; what is more is read and dropped."""
BULK = 100
"""The most questions that one `search --bulk` takes."""
REFUSED = 1
"""The exit code of a refusal."""
_Outcome = Response | Failure


class Refused(ValueError):
    """kebab said itself that it failed. `failure` tells how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def parse_search(data: bytes) -> Response:
    """Read a search_response.v1. `coverage` holds the versions that all hits agree on.

    Raises:
        ValueError: when it is none, with where, what was expected and what was found. Untrusted text.
    """
    return _search(_object(data), "the output")


def parse_bulk_item(line: bytes, question: str) -> Response:
    """Read one bulk_search_item.v1, which must be about the question.

    Raises:
        Refused: when the item is an error.
        ValueError: as `parse_search`.
    """
    item = _object(line)
    _check_version(item, "bulk_search_item", "the line")
    echo = item.get("query")
    if not isinstance(echo, dict) or echo.get("query") != question:
        refuse("query", "the question that was asked in this place", echo)
    error, response = item.get("error"), item.get("response")
    if error is not None:
        raise Refused(_error_failure(error, "error"))
    return _search(response, "response")


def parse_answer(data: bytes, retrieved: Response) -> Response:
    """Read an answer.v1, and put it together with what was retrieved. One that is not grounded abstains.

    Raises:
        ValueError: as `parse_search`.
    """
    root = _object(data)
    _check_version(root, "answer", "the output")
    grounded = root.get("grounded", ABSENT)
    if type(grounded) is not bool:
        refuse("grounded", "true or false", grounded)
    reason = optional_text(root, "refusal_reason")
    return replace(
        retrieved,
        answer=required_text(root, "answer"),
        references=tuple(
            _reference(item, f"citations[{position}]")
            for position, item in enumerate(entries(root.get("citations", ABSENT), "citations", MAX_CITATIONS))
        ),
        abstained=not grounded,
        abstain_reason=reason,
        grounded=grounded,
        model=_model(root.get("model")),
    )


def _model(stored: object) -> str | None:
    """Return the name of the model that answered, where one is told: nothing is refused for want of it."""
    name = stored.get("id") if isinstance(stored, dict) else None
    return name if isinstance(name, str) and name else None


def find_error(errors: bytes) -> Failure | None:
    """Find the last error.v1 among the lines of an error output; None without one.

    Raises:
        ValueError: for an error of another version.
    """
    for line in reversed(errors.split(b"\n")):
        if not line.strip().startswith(b"{"):
            continue
        try:
            value = loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and str(value.get("schema_version", "")).startswith("error."):
            return _error_failure(value, "stderr")
    return None


def _error_failure(raw: Any, where: str) -> Failure:
    mapping(raw, where)
    if "schema_version" in raw:  # inside an item the error may go without
        _check_version(raw, "error", where)
    code = required_text(raw, "code", where)
    message = f"kebab: {cut(code, limit=60)}: {cut(required_text(raw, 'message', where))}"
    hint = raw.get("hint")
    if isinstance(hint, str) and hint.strip():
        message += f" ({cut(hint, limit=120)})"
    return Failure(kind=_KINDS.get(code, "status"), message=message)


def _search(root: Any, where: str) -> Response:
    mapping(root, where)
    if "schema_version" in root or where == "the output":
        _check_version(root, "search_response", where)
    hits = entries(root.get("hits", ABSENT), "hits", MAX_HITS)
    chunks = tuple(_chunk(item, f"hits[{position}]") for position, item in enumerate(hits))
    versions = {}
    for name in _VERSIONS:
        stated = {optional_text(item, name, f"hits[{position}]") for position, item in enumerate(hits)}
        if len(stated) == 1 and (only := stated.pop()):
            versions[name] = only
    return Response(chunks=chunks, coverage=versions or None)


def _chunk(item: Any, where: str) -> Chunk:
    mapping(item, where)
    if "schema_version" in item:
        _check_version(item, "search_hit", where)
    rank = item.get("rank", ABSENT)
    if type(rank) is not int or rank < 1:
        refuse(f"{where}.rank", "a whole number from 1", rank)
    headings = entries(item.get("heading_path", []), f"{where}.heading_path", MAX_HITS)
    for part in headings:
        if type(part) is not str:
            refuse(f"{where}.heading_path", "a list of texts", part)
    scores = mapping(item.get("retrieval") or {}, f"{where}.retrieval")
    final = item.get("score", scores.get("fusion_score"))
    return Chunk(
        chunk_id=required_text(item, "chunk_id", where),
        rel_path=required_text(item, "doc_path", where),
        heading_path=written(tuple(headings)),
        text=required_text(item, "snippet", where),
        rank=rank,
        score_final=_number(final, f"{where}.score"),
        score_vector=_number(scores.get("vector_score"), f"{where}.retrieval.vector_score"),
        score_lexical=_number(scores.get("lexical_score"), f"{where}.retrieval.lexical_score"),
        doc_id=required_text(item, "doc_id", where),
    )


def _reference(item: Any, where: str) -> Reference:
    citation = mapping(item.get("citation") if isinstance(item, dict) else None, f"{where}.citation")
    section = citation.get("section")
    return Reference(
        vault="",
        rel_path=required_text(citation, "path", f"{where}.citation"),
        heading_path=section if isinstance(section, str) else "",
        chunk_index=0,
    )


def _check_version(root: dict[str, Any], name: str, where: str) -> None:
    stated = root.get("schema_version", ABSENT)
    version = _VERSION.fullmatch(stated) if isinstance(stated, str) else None
    if version is None or version[1] != name:
        refuse(f"{where}: schema_version", f"{name}.v{MAJOR}", stated)
    if int(version[2]) != MAJOR:
        raise ValueError(f"{where}: schema_version: this adapter speaks {name}.v{MAJOR}, found {cut(stated)}")


def _object(data: bytes) -> dict[str, Any]:
    return mapping(parsed(data), "the output")


def mapping(raw: Any, where: str) -> dict[str, Any]:
    """Take a mapping; a ValueError when it is none."""
    if type(raw) is not dict:
        refuse(where, "a mapping", raw)
    return raw


def entries(raw: Any, where: str, limit: int) -> list[Any]:
    """Take a list of at most `limit` entries.

    Raises:
        ValueError: when it is none, or longer.
    """
    if type(raw) is not list:
        refuse(where, "a list", raw)
    items: list[Any] = raw
    if len(items) > limit:
        raise ValueError(f"{where}: expected at most {limit} entries, found {len(items)}")
    return items


def required_text(item: dict[str, Any], name: str, where: str = "") -> str:
    """Take a text from a mapping that stands at `where`.

    Raises:
        ValueError: when it is none, or not there.
    """
    value = item.get(name, ABSENT)
    if type(value) is not str:
        refuse(joined(where, name), "text", value)
    return value


def optional_text(item: dict[str, Any], name: str, where: str = "") -> str | None:
    """Take a text that may be missing or null.

    Raises:
        ValueError: when it is anything else.
    """
    return None if item.get(name) is None else required_text(item, name, where)


def refuse(where: str, expected: str, value: Any) -> NoReturn:
    """Raise a ValueError that says what was expected and what stands there."""
    raise ValueError(f"{where}: expected {expected}, found {'a mapping' if type(value) is dict else kind_of(value)}")


def _number(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(value):
        refuse(where, "a number", value)
    return float(value)


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

    A process that leaves the group is for whoever opened the `ProcessGroup` around it.

    Raises:
        OSError: when it cannot be executed.
        ValueError: for words that no process can be given, such as one with a NUL.
    """
    start = time.monotonic()
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    exchange = _Exchange(process, given, bounds, start + bounds.seconds)
    try:
        cut = exchange.run()
    finally:
        # not yet collected, so that the number of the group cannot be somebody else's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        exchange.close()
    return Ended(
        code=code, out=bytes(exchange.out), errors=bytes(exchange.errors), cut=cut, seconds=time.monotonic() - start
    )


class _Exchange:
    """Feeds the input and takes the output, until the process ends or must."""

    def __init__(self, process: subprocess.Popen[bytes], given: bytes, bounds: Bounds, end: float) -> None:
        self.out = bytearray()
        self.errors = bytearray()
        self._process = process
        self._given = memoryview(given)
        self._bounds = bounds
        self._end = end
        self._streams = [stream for stream in (process.stdin, process.stdout, process.stderr) if stream]
        self._selector = selectors.DefaultSelector()
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)
            writes = stream is process.stdin
            self._selector.register(stream, selectors.EVENT_WRITE if writes else selectors.EVENT_READ)

    def run(self) -> Literal["timeout", "size", "stopped"] | None:
        ended: float | None = None
        while True:
            if self._bounds.stop.is_set():
                return "stopped"
            now = time.monotonic()
            if now >= self._end:
                return "timeout"
            if ended is None and self._has_ended():
                ended = now
            # a process it left behind may hold the pipes open for ever
            if ended is not None and (not self._readers() or now - ended > _DRAIN):
                return None
            for key, _ in self._selector.select(min(_POLL, self._end - now)) if self._selector.get_map() else ():
                self._step(key.fileobj)  # type: ignore[arg-type]
            if len(self.out) > self._bounds.max_bytes:
                return "size"
            if not self._readers():
                time.sleep(_POLL / 10)

    def close(self) -> None:
        self._selector.close()
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.close()

    def _readers(self) -> bool:
        return any(key.fileobj is not self._process.stdin for key in self._selector.get_map().values())

    def _step(self, stream: IO[bytes]) -> None:
        try:
            if stream is self._process.stdin:
                sent = os.write(stream.fileno(), self._given[:_PIECE]) if self._given else 0
                self._given = self._given[sent:]
                finished = not self._given
            else:
                piece = os.read(stream.fileno(), _PIECE)
                finished = not piece
                if stream is self._process.stdout:
                    self.out += piece
                else:
                    self.errors += piece[: max(MAX_ERRORS - len(self.errors), 0)]
        except BlockingIOError:
            return
        except OSError:  # it closed its side, which is its right
            finished = True
        if finished:
            self._selector.unregister(stream)
            stream.close()

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # raggate was started with SIGCHLD ignored
            return True


class KebabAdapter:
    """Asks by the program of `api.program`, which is run for the questions. Nothing has to be up before that.

    Args:
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
        if result.failure and self._streak >= GIVE_UP_AFTER:
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
        failed = _exit_failure(ended, self._settings)
        if failed is not None and ended.cut is None:
            # it says that it failed, and not where: no line of it is trusted. An item that fails alone ends with 0
            return [failed] * len(questions)
        missing = failed or Failure(kind="schema", message="expected a line, found nothing")
        return [
            _parsed(partial(parse_bulk_item, answered[place], case.question)) if place < len(answered) else missing
            for place, (case, _) in enumerate(questions)
        ]

    def _search_one(self, case: Case, mode: str) -> _Outcome:
        words = ["search", "--mode", mode, "--k", str(case.k or self._settings.k), "--json", "--", case.question]
        ended = self._run(words, b"", 1)
        if isinstance(ended, Failure):
            return ended
        return _exit_failure(ended, self._settings) or _parsed(partial(parse_search, ended.out))

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
        settings, program = self._settings, self._program
        config = ["--config", str(self._root / program.config)] if program.config else []
        bounds = Bounds(seconds=settings.timeout * questions, max_bytes=MAX_BODY_BYTES * questions, stop=self._stop)
        try:
            return run([*program.run, *config, *words], given, bounds, cwd=self._root, environment=self._environment)
        except (OSError, ValueError) as error:
            return Failure(kind="connection", message=f"cannot run {cut(program.run[0])}: {error}")


def _parsed(read: Callable[[], Response]) -> _Outcome:
    try:
        return bounded(read())
    except Refused as error:
        return error.failure
    except ValueError as error:
        return Failure(kind="schema", message=cut(error))


def _checked(response: Response, code: int) -> Response:
    if code == REFUSED and response.grounded:
        raise ValueError("grounded: exit code 1 means a refusal, but the answer says that it is grounded")
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
