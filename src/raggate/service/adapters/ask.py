"""The notes API's `/api/v1/ask`: cases become calls, bodies become responses, health and index become a state."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NoReturn

from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Chunk, Reference, Response
from raggate.models.service import Call, IndexState
from raggate.service.answer_limits import MAX_BODY_BYTES, MAX_ENTRIES, MAX_FOLDERS, MAX_STEP_MS
from raggate.service.http_channel import Dialogue
from raggate.text import jsonio
from raggate.text.field_paths import ABSENT, joined, kind_of
from raggate.text.http_client import httpx
from raggate.text.jsonio import loads
from raggate.text.numbers import setting
from raggate.text.quote import cut, quoted

MAX_COVERAGE = 100

_PATH = "/api/v1/ask"
_TOLD = ("docs_processed", "chunks_embedded", "docs_with_0_chunks")
_PROBE = Case(id="readiness", question="What are these notes about?", answerable=True, k=3)
_STEP = re.compile(r"[A-Za-z0-9_]{1,60}_ms")
_COUNTS = ("docs_processed", "docs_with_0_chunks", "chunks_attempted", "chunks_embedded", "chunks_skipped")
_TEXTS = ("chunk_id", "rel_path", "heading_path", "text")
_PLAIN = (int, float, str)


UNHEALTHY = frozenset(
    {
        "degraded",
        "down",
        "error",
        "fail",
        "failed",
        "initializing",
        "loading",
        "maintenance",
        "not_ready",
        "out_of_service",
        "starting",
        "stopping",
        "unavailable",
        "unhealthy",
    }
)
"""The values of `status`, whatever their case, that mean no; blanks and dashes count as underscores."""
MAX_STATE_BYTES = 1 << 20
"""Bytes of an answer that tells health or index."""
_NOT_OFFERED = frozenset((404, 405, 501))
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "raggate"}
NOTICEABLE_MS = 1.0
"""Milliseconds from which on something was generated; to skip it takes a few microseconds at most."""


class AskAdapter:
    """Speaks the protocol of the notes API.

    Args:
        settings: how questions are asked.
        vault_names: the vaults in configuration order; the API numbers them from 1 in this order.
    """

    def __init__(self, settings: Ask, vault_names: Sequence[str]) -> None:
        self._settings = settings
        # what an id begins with, and the vault it then belongs to
        self._prefixes = tuple((f"{number}|".encode(), name) for number, name in enumerate(vault_names, 1))
        self._query = {"debug": "true"}
        if settings.retrieval_only:
            self._query["retrieval_only"] = "true"

    def call(self, case: Case, mode: str) -> Call:
        """Return the HTTP call that asks one case in one mode."""
        body: dict[str, Any] = {"question": case.question, "k": case.k or self._settings.k, "mode": mode}
        if case.vaults:
            body["vaults"] = list(case.vaults)
        if case.folders:
            body["folders"] = list(case.folders)
        if case.detail:
            body["detail"] = case.detail
        return Call(method="POST", path=_PATH, query=dict(self._query), json=body)

    def dialogue(self, case: Case, mode: str) -> Dialogue:
        """Ask one case in one mode, by one call."""
        return self.parse((yield self.call(case, mode)), case)

    def parse(self, body: bytes, case: Case) -> Response:
        """Read a 200 body. Fields the protocol does not know are ignored.

        Raises:
            ValueError: when it does not follow the protocol, with where, what was expected and what was found.
        """
        return self._parse(body, case, retrieval_only=self._settings.retrieval_only)

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands: its health, whether it is indexing, and a probing question's coverage.

        Args:
            client: with the API as its base URL; its timeouts hold for every single read.
            ready: the paths to ask; without an `index_path` the API counts as not indexing.

        Raises:
            httpx.HTTPError: when it cannot be reached yet.
        """
        problem = health_problem(client, ready.health_path)
        if problem:
            return IndexState(healthy=False, indexing=False, detail=problem)
        busy, about_index = indexing(client, ready.index_path) if ready.index_path else (False, "")
        coverage, about_probe = self._probe(client)
        detail = "; ".join(filter(None, (about_index, about_probe)))
        counts = dict(zip(("documents", "chunks", "empty"), map(coverage.get, _TOLD), strict=True))
        return IndexState(healthy=True, indexing=busy, detail=detail, **counts)

    def _probe(self, client: httpx.Client) -> tuple[dict[str, Any], str]:
        """Ask one question for the index coverage alone; a failure is told, not raised."""
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
            return {}, f"POST {_PATH}: the API gives no debug.indexing_coverage"
        return dict(coverage), ""

    def _parse(self, body: bytes, case: Case, *, retrieval_only: bool) -> Response:
        root = mapping(parsed(body, "the body: "), "the body")
        if root.get("debug") is None:
            raise ValueError("debug: found nothing; the API must honour ?debug=true, or nothing can be scored")
        debug = mapping(root["debug"], "debug")
        answer = optional_text(root, "answer") if retrieval_only else required_text(root, "answer")
        abstained = root.get("abstained")
        if abstained is not None and type(abstained) is not bool:
            refuse("abstained", "true or false", abstained)
        latency = _latency(debug)
        reasoning = (_optional_mapping(debug, "folder_selection") or {}).get("reasoning")
        return Response(
            chunks=self._chunks(debug.get("retrieved_chunks", ABSENT), case),
            # an API that does not know ?retrieval_only answers all the same; that it did is kept, and no text
            answer=None if retrieval_only else answer,
            unasked=retrieval_only and generated(answer, latency, abstained=bool(abstained)),
            references=_references(root.get("references", ABSENT), optional=retrieval_only),
            abstained=bool(abstained),
            abstain_reason=optional_text(root, "abstain_reason") or None,
            selected_folders=_folders(debug, "selected_folders"),
            available_folders=_folders(debug, "available_folders"),
            # no question fails for want of a reason
            folder_reasoning=reasoning if isinstance(reasoning, str) and reasoning else None,
            latency=latency,
            coverage=_coverage(debug),
        )

    def _chunks(self, raw: Any, case: Case) -> tuple[Chunk, ...]:
        items = entries(raw, "debug.retrieved_chunks", MAX_ENTRIES)
        prefixes = self._prefixes
        if len(case.vaults) == 1:
            # what a question is limited to is what it mostly finds, so its vault is tried first
            prefixes = tuple(sorted(prefixes, key=lambda prefix: prefix[1] != case.vaults[0]))
        chunks = []
        for position, item in enumerate(items):
            if type(item) is not dict:
                refuse(f"debug.retrieved_chunks[{position}]", "a mapping", item)
            get: Any = item.get
            chunk_id, rel_path, heading_path, text = map(get, _TEXTS)
            if not (type(chunk_id) is type(rel_path) is type(heading_path) is type(text) is str):
                for name in _TEXTS:
                    required_text(item, name, f"debug.retrieved_chunks[{position}]")
            rank = get("rank")
            if rank is not None and type(rank) is not int:
                refuse(f"debug.retrieved_chunks[{position}].rank", "a whole number", rank)
            vault = get("vault")
            if vault is None or vault == "":
                # of an empty name nothing could be looked up
                vault = _vault_of(chunk_id, f"{rel_path}|{heading_path}|{text}".encode(), prefixes)
            elif type(vault) is not str:
                refuse(f"debug.retrieved_chunks[{position}].vault", "text", vault)
            chunks.append(
                Chunk(
                    chunk_id=chunk_id,
                    rel_path=rel_path,
                    heading_path=heading_path,
                    text=text,
                    rank=rank,
                    score_final=_score(item, "score_final", position),
                    score_vector=_score(item, "score_vector", position),
                    score_lexical=_score(item, "score_lexical", position),
                    vault=vault,
                )
            )
        return tuple(chunks)


def _vault_of(chunk_id: str, rest: bytes, prefixes: tuple[tuple[bytes, str], ...]) -> str | None:
    """Recover the vault, which the protocol leaves out, from the id: a hash over vault number, place and text."""
    for prefix, name in prefixes:
        if sha256(prefix + rest).hexdigest()[:32] == chunk_id:
            return name
    return None


def _score(item: dict[str, Any], name: str, position: int) -> float | None:
    value: float | None = item.get(name)
    if type(value) is float or value is None:
        return value  # finite: the JSON reader refuses numbers beyond a double
    if type(value) is not int:
        refuse(f"debug.retrieved_chunks[{position}].{name}", "a number", value)
    return float(value)


def _references(raw: Any, *, optional: bool) -> tuple[Reference, ...]:
    if optional and (raw is None or raw is ABSENT):
        return ()
    references = []
    for position, item in enumerate(entries(raw, "references", MAX_ENTRIES)):
        where = f"references[{position}]"
        mapping(item, where)
        if type(index := item.get("chunk_index", ABSENT)) is not int:
            refuse(f"{where}.chunk_index", "a whole number", index)
        texts = {name: required_text(item, name, where) for name in ("vault", "rel_path", "heading_path")}
        references.append(Reference(**texts, chunk_index=index))
    return tuple(references)


def _folders(debug: dict[str, Any], name: str) -> tuple[str, ...] | None:
    selection = _optional_mapping(debug, "folder_selection") or {}
    if selection.get(name) is None:
        return None
    where = f"debug.folder_selection.{name}"
    items = entries(selection[name], where, MAX_FOLDERS)
    for position, item in enumerate(items):
        if type(item) is not str:
            refuse(f"{where}[{position}]", "text", item)
    return tuple(items)


def _latency(debug: dict[str, Any]) -> dict[str, float]:
    """Keep the steps that are plausible times in milliseconds."""
    raw = _optional_mapping(debug, "latency") or {}
    steps = {name: value for name, value in raw.items() if type(value) in (int, float) and 0 <= value <= MAX_STEP_MS}
    return {name: float(value) for name, value in steps.items() if _STEP.fullmatch(name)}


def _coverage(debug: dict[str, Any]) -> dict[str, Any] | None:
    """Check what is known and keep of the rest what is a number, text or a flat mapping of those."""
    raw = _optional_mapping(debug, "indexing_coverage")
    if raw is None:
        return None
    for name in _COUNTS:
        value = raw.get(name)
        if value is not None and (type(value) is not int or value < 0):
            refuse(f"debug.indexing_coverage.{name}", "a whole number, 0 or more", value)
    for name in ("chunker_version", "index_version"):
        optional_text(raw, name, "debug.indexing_coverage")
    if len(raw) > MAX_COVERAGE:
        raise ValueError(f"debug.indexing_coverage: expected at most {MAX_COVERAGE} entries, found {len(raw)}")
    return {name: value for name, value in raw.items() if type(value) in _PLAIN or _is_flat(value)}


def _is_flat(value: Any) -> bool:
    return type(value) is dict and len(value) <= MAX_COVERAGE and all(type(item) in _PLAIN for item in value.values())


def _optional_mapping(debug: dict[str, Any], name: str) -> dict[str, Any] | None:
    return None if debug.get(name) is None else mapping(debug[name], f"debug.{name}")


def health_problem(client: httpx.Client, path: str) -> str:
    """Return why the API is not healthy, or nothing when it is."""
    return problem_of(path, *fetch_state(client, "GET", path))


def problem_of(path: str, status: int, body: bytes) -> str:
    """Return why an API is not healthy that answers its health path so; nothing when it is."""
    if status != 200:
        return f"GET {path}: {status_text(status, body)}"
    health = _mapping(body).get("status")
    return f"GET {path}: its status is {cut(jsonio.dumps(health).decode(), limit=60)}" if _is_unhealthy(health) else ""


def indexing(client: httpx.Client, path: str) -> tuple[bool, str]:
    """Return whether the API is indexing. One that cannot tell does not count as done, one that has no such path does.

    Raises:
        httpx.HTTPError: when there is no answer, none in time, or a larger one.
        ValueError: when it is told by another word than true or false: that may mean yes.
    """
    status, body = fetch_state(client, "GET", path)
    if status != 200:
        return status not in _NOT_OFFERED, f"GET {path}: {status_text(status, body)}"
    is_indexing = _mapping(body).get("is_indexing")
    if is_indexing is None:
        return False, f"GET {path}: the API does not report is_indexing"
    if type(is_indexing) is not bool:
        refuse("is_indexing", "true or false", is_indexing)
    return is_indexing, ""


def _is_unhealthy(status: object) -> bool:
    # everything else is the API's own way to say yes: `ok`, `UP`, `pass`, a number, nothing at all
    if isinstance(status, str):
        return status.strip().lower().replace(" ", "_").replace("-", "_") in UNHEALTHY
    return status is False


def _mapping(body: bytes) -> dict[str, Any]:
    try:
        value = jsonio.loads(body)
    except ValueError:
        import json  # seldom needed

        # whoever writes NaN beside it still says that it is indexing, or not healthy
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return {}
    return value if type(value) is dict else {}


def status_text(status: int, body: bytes) -> str:
    """Write a status with the beginning of its body."""
    excerpt = cut(body[:2_000].decode("utf-8", "replace"), limit=200)
    return f"HTTP {status} {excerpt}".rstrip()


def fetch_state(
    client: httpx.Client,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> tuple[int, bytes]:
    """Return status and body of what tells health or index: whole, as half of one does not tell what it says.

    Raises:
        httpx.HTTPError: when there is no answer, none in time, or a larger one.
    """
    status, body = fetch(client, method, path, headers=headers, content=content, limit=MAX_STATE_BYTES + 1)
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
    """Return status and body, the body cut at `limit` bytes.

    Raises:
        httpx.HTTPError: when there is no answer, or none within `seconds`.
    """
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
    """Parse a body; `before` begins the message.

    Raises:
        ValueError: when it is not JSON, with how it begins. Untrusted text.
    """
    try:
        return loads(body)
    except ValueError as error:
        beginning = quoted(body[:400].decode("utf-8", "replace"), limit=60)
        raise ValueError(f"{before}expected JSON, found {beginning}: {error}") from None


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


def generated(answer: object, latency: Mapping[str, float], *, abstained: bool) -> bool:
    """Return whether an answer to a retrieval-only question was generated.

    Args:
        answer: what stands where answers stand; anything that is not text is none.
        latency: steps in milliseconds, as the API tells them.
        abstained: whether the API declined to answer, for which it may have a standing phrase.
    """
    has_answer = type(answer) is str and bool(answer.strip()) and not abstained
    return has_answer or latency.get("generation_ms", 0.0) >= NOTICEABLE_MS
