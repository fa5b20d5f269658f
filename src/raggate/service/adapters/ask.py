"""The notes API's `/api/v1/ask`: cases become calls, bodies become responses, health and index become a state."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert

from raggate.base import jsonio
from raggate.base.field_paths import joined, kind_of
from raggate.base.http_client import httpx
from raggate.base.numbers import setting
from raggate.base.quote import cut, quoted
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Chunk, Reference, Response
from raggate.models.service import Call, IndexState
from raggate.service.answer_limits import MAX_BODY_BYTES, MAX_ENTRIES, MAX_FOLDERS, MAX_STEP_MS

MAX_COVERAGE = 100
_PATH = "/api/v1/ask"
INDEX_PATH = "/api/index/status"
_TOLD = ("docs_processed", "chunks_embedded", "docs_with_0_chunks")
_PROBE = Case(id="readiness", question="What are these notes about?", answerable=True, k=3)
_STEP = re.compile(r"[A-Za-z0-9_]{1,60}_ms")
_COUNTS = ("docs_processed", "docs_with_0_chunks", "chunks_attempted", "chunks_embedded", "chunks_skipped")
_PLAIN = (int, float, str)
_T = TypeVar("_T")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
# what msgspec says of a value that does not fit, and where
_SAID = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)
_NAMED = re.compile(r"`(\w+)(?: \| null)?`")
_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}

UNHEALTHY = frozenset(
    "degraded down error fail failed initializing loading maintenance not_ready out_of_service starting stopping "
    "unavailable unhealthy".split()
)
"""The values of `status`, whatever their case, that mean no; blanks and dashes count as underscores."""
MAX_STATE_BYTES = 1 << 20
"""Bytes of an answer that tells health or index."""
_NOT_OFFERED = frozenset((404, 405, 501))
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "raggate"}
NOTICEABLE_MS = 1.0
"""Milliseconds from which on something was generated; to skip it takes a few microseconds at most."""


class _Chunk(Struct):
    """A chunk as the protocol has it."""

    chunk_id: str
    rel_path: str
    heading_path: str
    text: str
    rank: int | None = None
    score_final: float | None = None
    score_vector: float | None = None
    score_lexical: float | None = None
    vault: str | None = None


_Folders = Annotated[tuple[str, ...], Meta(max_length=MAX_FOLDERS)]


class _Selection(Struct):
    selected_folders: _Folders | None = None
    available_folders: _Folders | None = None
    reasoning: Any = None


class _Debug(Struct):
    retrieved_chunks: Annotated[list[_Chunk], Meta(max_length=MAX_ENTRIES)]
    folder_selection: _Selection | None = None
    latency: dict[str, Any] | None = None
    indexing_coverage: Annotated[dict[str, Any], Meta(max_length=MAX_COVERAGE)] | None = None


class _Body(Struct):
    """An answer with status 200; what else it holds is ignored."""

    debug: _Debug
    answer: str | None = None
    references: Annotated[tuple[Reference, ...], Meta(max_length=MAX_ENTRIES)] | None = None
    abstained: bool | None = None
    abstain_reason: str | None = None


class AskAdapter:
    """Speaks the protocol of the notes API, which numbers the vaults from 1 in configuration order."""

    def __init__(self, settings: Ask, vault_names: Sequence[str]) -> None:
        self._settings = settings
        # what an id begins with, and the vault it then belongs to
        self._prefixes = tuple((f"{number}|".encode(), name) for number, name in enumerate(vault_names, 1))
        self._query = {"debug": "true"}
        if settings.retrieval_only:
            self._query["retrieval_only"] = "true"

    def call(self, case: Case, mode: str) -> Call:
        body: dict[str, Any] = {"question": case.question, "k": case.k or self._settings.k, "mode": mode}
        scope = {"vaults": list(case.vaults), "folders": list(case.folders), "detail": case.detail}
        body |= {name: value for name, value in scope.items() if value}
        return Call(method="POST", path=_PATH, query=dict(self._query), json=body)

    def parse(self, body: bytes, case: Case) -> Response:
        return self._parse(body, case, retrieval_only=self._settings.retrieval_only)

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands: its health, whether it is indexing, and a probing question's coverage."""
        path = ready.health_path
        problem = problem_of(path, *fetch_state(client, "GET", path))
        if problem:
            return IndexState(healthy=False, indexing=False, detail=problem)
        busy, about_index = indexing(client)
        coverage, about_probe = self._probe(client)
        detail = "; ".join(filter(None, (about_index, about_probe)))
        documents, chunks, empty = map(coverage.get, _TOLD)
        return IndexState(healthy=True, indexing=busy, documents=documents, chunks=chunks, empty=empty, detail=detail)

    def _probe(self, client: httpx.Client) -> tuple[dict[str, Any], str]:
        """Ask one question for the index coverage alone. Returns a failure instead of raising it."""
        content = jsonio.dumps({"question": _PROBE.question, "k": _PROBE.k, "mode": self._settings.modes[0]})
        limit, seconds = MAX_BODY_BYTES, self._settings.timeout
        url, headers = f"{_PATH}?debug=true&retrieval_only=true", {"Content-Type": "application/json"}
        try:
            status, body = fetch(client, "POST", url, headers=headers, content=content, limit=limit, seconds=seconds)
        except httpx.TimeoutException:
            return {}, f"POST {_PATH}: no answer in time"
        if status != 200:
            return {}, f"POST {_PATH}: {status_text(status, body)}"
        try:
            coverage = self._parse(body, _PROBE, retrieval_only=True).coverage
        except ValueError as error:
            return {}, f"POST {_PATH}: {error}"
        if not coverage:
            return {}, f"POST {_PATH}: the answer has no debug.indexing_coverage"
        return dict(coverage), ""

    def _parse(self, body: bytes, case: Case, *, retrieval_only: bool) -> Response:
        raw = parsed(body, "the body: ")
        if isinstance(raw, dict) and raw.get("debug") is None:
            raise ValueError("debug: found nothing. raggate can only score answers of an API that honours ?debug=true")
        root = taken(raw, _Body)
        for name in ("answer", "references") if not retrieval_only else ():
            if getattr(root, name) is None:
                raise ValueError(f"{name}: found nothing")
        folders = root.debug.folder_selection or _Selection()
        latency, abstained = _latency(root.debug.latency or {}), bool(root.abstained)
        return Response(
            chunks=self._chunks(root.debug.retrieved_chunks, case),
            # an API that does not know ?retrieval_only answers all the same; that it did is kept, and no text
            answer=None if retrieval_only else root.answer,
            unasked=retrieval_only and generated(root.answer, latency, abstained=abstained),
            references=root.references or (),
            abstained=abstained,
            abstain_reason=root.abstain_reason or None,
            selected_folders=folders.selected_folders,
            available_folders=folders.available_folders,
            # no question fails for want of a reason
            folder_reasoning=folders.reasoning if isinstance(folders.reasoning, str) and folders.reasoning else None,
            latency=latency,
            coverage=_coverage(root.debug.indexing_coverage),
        )

    def _chunks(self, items: Sequence[_Chunk], case: Case) -> tuple[Chunk, ...]:
        prefixes = self._prefixes
        if len(case.vaults) == 1:
            # what a question is limited to is what it mostly finds, so its vault is tried first
            prefixes = tuple(sorted(prefixes, key=lambda prefix: prefix[1] != case.vaults[0]))
        return tuple(
            Chunk(
                chunk_id=item.chunk_id,
                rel_path=item.rel_path,
                heading_path=item.heading_path,
                text=item.text,
                rank=item.rank,
                score_final=item.score_final,
                score_vector=item.score_vector,
                score_lexical=item.score_lexical,
                # of an empty name nothing could be looked up
                vault=item.vault or _vault_of(item, prefixes),
            )
            for item in items
        )


def _vault_of(item: _Chunk, prefixes: tuple[tuple[bytes, str], ...]) -> str | None:
    """Recover the vault, which the protocol leaves out, from the id: a hash over vault number, place and text."""
    rest = f"{item.rel_path}|{item.heading_path}|{item.text}".encode()
    for prefix, name in prefixes:
        if sha256(prefix + rest).hexdigest()[:32] == item.chunk_id:
            return name
    return None


def _latency(raw: Mapping[str, Any]) -> dict[str, float]:
    """Keep the steps that are plausible times in milliseconds."""
    steps = {name: value for name, value in raw.items() if type(value) in (int, float) and 0 <= value <= MAX_STEP_MS}
    return {name: float(value) for name, value in steps.items() if _STEP.fullmatch(name)}


def _coverage(raw: dict[str, Any] | None) -> dict[str, Any] | None:
    """Check what is known and keep of the rest what is a number, text or a flat mapping of those."""
    if raw is None:
        return None
    for name in _COUNTS:
        value = raw.get(name)
        if value is not None and (type(value) is not int or value < 0):
            raise _unlike(f"debug.indexing_coverage.{name}", "a whole number, 0 or more", value)
    for name in ("chunker_version", "index_version"):
        if not isinstance(raw.get(name), str | None):
            raise _unlike(f"debug.indexing_coverage.{name}", "text", raw[name])
    return {name: value for name, value in raw.items() if type(value) in _PLAIN or _is_flat(value)}


def _is_flat(value: Any) -> bool:
    return type(value) is dict and len(value) <= MAX_COVERAGE and all(type(item) in _PLAIN for item in value.values())


def problem_of(path: str, status: int, body: bytes) -> str:
    """Return why an API is not healthy that answers its health path so; nothing when it is."""
    if status != 200:
        return f"GET {path}: {status_text(status, body)}"
    health = _mapping(body).get("status")
    # everything else is the API's own way to say yes: `ok`, `UP`, `pass`, a number, nothing at all
    no = isinstance(health, str) and health.strip().lower().replace(" ", "_").replace("-", "_") in UNHEALTHY
    return f"GET {path}: its status is {cut(jsonio.dumps(health).decode(), limit=60)}" if no or health is False else ""


def indexing(client: httpx.Client) -> tuple[bool, str]:
    """Return whether the API is indexing. One that cannot tell is not done; one that has no such path is."""
    status, body = fetch_state(client, "GET", INDEX_PATH)
    if status != 200:
        return status not in _NOT_OFFERED, f"GET {INDEX_PATH}: {status_text(status, body)}"
    is_indexing = _mapping(body).get("is_indexing")
    if is_indexing is None:
        return False, f"GET {INDEX_PATH}: the API does not report is_indexing"
    if type(is_indexing) is not bool:
        raise _unlike("is_indexing", "true or false", is_indexing)
    return is_indexing, ""


def _mapping(body: bytes) -> dict[str, Any]:
    # not strictly: whoever writes NaN beside it still says that it is indexing, or not healthy
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if type(value) is dict else {}


def status_text(status: int, body: bytes) -> str:
    """Write a status with the beginning of its body."""
    excerpt = cut(body[:2_000].decode("utf-8", "replace"), limit=200)
    return f"HTTP {status} {excerpt}".rstrip()


def fetch_state(client: httpx.Client, method: str, path: str, **sent: Any) -> tuple[int, bytes]:
    """Return status and body of what tells health or index: whole, as half of one does not tell what it says."""
    status, body = fetch(client, method, path, limit=MAX_STATE_BYTES + 1, **sent)
    if len(body) > MAX_STATE_BYTES:
        raise httpx.ReadError(f"the body has more than {MAX_STATE_BYTES} bytes")
    return status, body


def fetch(
    client: httpx.Client,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    limit: int = 64 << 10,
    seconds: float = 10.0,
) -> tuple[int, bytes]:
    """Return status and body, the body cut at `limit` bytes."""
    headers = {**_HEADERS, **(headers or {})}
    deadline = time.monotonic() + seconds
    pieces = bytearray()
    with client.stream(method, path, content=content, headers=headers, follow_redirects=False) as response:
        # never unpacked: a compressed body, which was not asked for, could grow a thousandfold
        for piece in response.iter_raw() if "content-encoding" in response.headers else response.iter_bytes():
            pieces += piece
            if len(pieces) > limit:
                break
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout(f"{path}: the answer was not complete within {setting(seconds)} s")
        return response.status_code, bytes(pieces[:limit])


def parsed(body: bytes, before: str = "") -> Any:
    """Parse a body; `before` begins the message."""
    try:
        return jsonio.loads(body)
    except ValueError as error:
        beginning = quoted(body[:400].decode("utf-8", "replace"), limit=60)
        raise ValueError(f"{before}expected JSON, found {beginning}: {error}") from None


def taken(value: Any, kind: type[_T]) -> _T:
    """Take a value of JSON for a message of a protocol; a ValueError tells what was expected and found, and where."""
    try:
        return convert(value, kind)
    except ValidationError as error:
        said = _SAID.fullmatch(str(error))
        what, place = said.groups(default="") if said is not None else (str(error), "")
        where = place.strip(".") or "the body"
        if missing := _MISSING.fullmatch(what):
            raise ValueError(f"{joined(where, missing[1])}: found nothing") from None
        words = _NAMED.sub(lambda match: _KINDS.get(match[1], match[1]), re.sub(", got ", ", found ", what))
        raise ValueError(f"{where}: {words[:1].lower()}{words[1:]}") from None


def _unlike(where: str, expected: str, value: Any) -> ValueError:
    return ValueError(f"{where}: expected {expected}, found {'a mapping' if type(value) is dict else kind_of(value)}")


def generated(answer: object, latency: Mapping[str, float], *, abstained: bool) -> bool:
    """Return whether an answer to a retrieval-only question was generated."""
    has_answer = type(answer) is str and bool(answer.strip()) and not abstained
    return has_answer or latency.get("generation_ms", 0.0) >= NOTICEABLE_MS
