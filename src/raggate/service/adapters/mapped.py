"""Any JSON API: cases become the configured request, bodies are read by field paths, its index becomes a state."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.ask_settings import Ask
from raggate.config.mapped_settings import ChunkRequest, IndexRequest, Pages
from raggate.config.service_settings import Readiness
from raggate.errors import UsageError
from raggate.models.golden import Case
from raggate.models.run import Chunk, Response
from raggate.models.service import Call, IndexState
from raggate.service.adapters.ask import fetch_state, parsed, problem_of, status_text
from raggate.service.adapters.mapped_request import (
    filled_json,
    filled_path,
    filled_query,
    filled_text,
    values_of,
    variables,
)
from raggate.service.adapters.mapped_response import (
    Prefixes,
    body_of,
    heading_path_at,
    holds,
    note_at,
    prefixes,
    read,
    refuse_errors,
    state_of,
    text_at,
)
from raggate.service.http_channel import Dialogue
from raggate.text import jsonio
from raggate.text.field_paths import ABSENT, Absent, Entry, WrongShape, below, find, parse
from raggate.text.http_client import httpx
from raggate.text.quote import quoted

MAX_CHUNKS = 200
"""Chunks of one question that are asked for one by one."""


MAX_URL = 32_000
"""Characters of path and query together; the HTTP library takes no more than about twice that, servers less."""
_STREAMS = {"ndjson": "application/x-ndjson, application/json", "sse": "text/event-stream"}


class Page(Struct, frozen=True, kw_only=True):
    """Which page is asked for: how many came before it, how many chunks they held, and the cursor, if there is one."""

    before: int = 0
    offset: int = 0
    cursor: str | int | Absent = ABSENT

    def values(self, pages: Pages | None) -> dict[str, Any]:
        """Return what its placeholders stand for."""
        number = self.before + (pages.first if pages is not None else 1)
        return {"page": number, "offset": self.offset, "cursor": self.cursor}


FIRST = Page()


def next_page(page: Page, pages: Pages, root: Any, *, came: int, wanted: int) -> Page | None:
    """Return the page after one; None where no other is to be asked for.

    Raises:
        ValueError: when the cursor is none, or the one before.
    """
    after = replace(page, before=page.before + 1, offset=page.offset + came)
    if not came or after.offset >= wanted or after.before >= pages.most:
        return None
    if pages.cursor is None:
        return after
    path = parse(pages.cursor)
    cursor = find(path, root)
    if cursor is ABSENT or cursor in (None, "", False):
        return None
    if type(cursor) not in (str, int):
        raise WrongShape(below("", path), "text or a whole number", cursor)
    if cursor == page.cursor:
        raise ValueError(f"{below('', path)}: expected the next page, found the one that was asked for")
    return replace(after, cursor=cursor)


def with_page(response: Response, more: Response) -> Response:
    """Put a further page behind an answer: its chunks, and the times that it took. What else it says is that again."""
    steps = {**response.latency, **more.latency}
    latency = {step: response.latency.get(step, 0.0) + more.latency.get(step, 0.0) for step in steps}
    unasked = response.unasked or more.unasked
    return replace(response, chunks=response.chunks + more.chunks, latency=latency, unasked=unasked)


def chunk_call(request: ChunkRequest, chunk: Chunk, headers: Mapping[str, str]) -> Call:
    """Return the call that asks for what a chunk holds."""
    values: dict[str, Any] = {"id": chunk.chunk_id, "rel_path": chunk.rel_path}
    values |= {"doc_id": chunk.doc_id or ABSENT, "vault": chunk.vault or ABSENT}
    return Call(
        method=request.method,
        path=filled_path(request.path, values),
        query=filled_query(request.query, values),
        json=None if request.body is None else filled_json(request.body, values),
        headers=dict(headers),
    )


def with_parts(chunk: Chunk, request: ChunkRequest, body: bytes, errors: str | None, beginnings: Prefixes) -> Chunk:
    """Put what a body tells into a chunk.

    Args:
        errors: the path where errors stand; None for those of GraphQL.
        beginnings: what is removed from paths, see `prefixes`.

    Raises:
        ValueError: when it is not there, or of another kind, and when an error is reported.
    """
    root = parsed(body, f"the body of chunk {chunk.chunk_id[:60]!r}: ")
    refuse_errors(root, errors)
    at = Entry("", root)
    if request.rel_path is not None:
        rel_path, vault = note_at(request.rel_path, at, beginnings)
        chunk = replace(chunk, rel_path=rel_path, vault=chunk.vault or vault)
    if request.text is not None:
        chunk = replace(chunk, text=text_at(request.text, at))
    if request.heading_path is not None:
        chunk = replace(chunk, heading_path=heading_path_at(request.heading_path, at))
    return chunk


class MappedAdapter:
    """Speaks the protocol that `ask.mapped` describes.

    Args:
        settings: how questions are asked, with `mapped`.
        vault_names: the vaults in configuration order.
        environment: raggate's own; only what `mapped.pass_env` names is read.

    Raises:
        UsageError: without `ask.mapped`, and for a variable that a header needs and that is not set, or unfit for one.
    """

    def __init__(self, settings: Ask, vault_names: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        mapped = settings.mapped
        if mapped is None:
            raise UsageError(
                "ask.adapter is mapped, but ask.mapped is missing", hint="docs/adapters.md shows what it says."
            )
        self._settings = settings
        self._mapped = mapped
        self._secrets = variables(mapped.headers, environment or {}, "ask.mapped.headers")
        self._prefixes = prefixes(mapped.response.chunks.path_prefix, vault_names)

    def call(self, case: Case, mode: str) -> Call:
        """Return the HTTP call that asks one case in one mode.

        Raises:
            UsageError: when the question makes a URL that is too long.
        """
        return self._page(case, mode, FIRST)

    def dialogue(self, case: Case, mode: str) -> Dialogue:
        """Ask one case in one mode: page by page, and then what each chunk lacks, where the settings say so."""
        wanted, page, pages = case.k or self._settings.k, FIRST, self._mapped.pages
        root, response = self._read((yield self.call(case, mode)), case)
        came = len(response.chunks)
        while pages and (following := next_page(page, pages, root, came=came, wanted=wanted)):
            page = following
            root, more = self._read((yield self._page(case, mode, page)), case)
            came = len(more.chunks)
            response = with_page(response, more)
        if self._mapped.chunk is None:
            return response
        headers = self._headers(wanted, mode)
        return replace(response, chunks=(yield from self._completed(response.chunks, self._mapped.chunk, headers)))

    def _completed(
        self, chunks: Sequence[Chunk], request: ChunkRequest, headers: Mapping[str, str]
    ) -> Generator[Call, bytes, tuple[Chunk, ...]]:
        if len(chunks) > MAX_CHUNKS:
            raise ValueError(f"expected at most {MAX_CHUNKS} chunks where each is asked for, found {len(chunks)}")
        bodies: dict[bytes, bytes] = {}
        filled = list[Chunk]()
        for chunk in chunks:
            call = chunk_call(request, chunk, headers)
            # chunks of one document may be asked for alike
            key = jsonio.dumps([call.path, call.query, call.json])
            if key not in bodies:
                bodies[key] = yield call
            filled.append(with_parts(chunk, request, bodies[key], self._mapped.response.errors, self._prefixes))
        return tuple(filled)

    def _page(self, case: Case, mode: str, page: Page) -> Call:
        request = self._mapped.ask
        values = {**values_of(case, mode, self._settings), **page.values(self._mapped.pages)}
        path, query = filled_path(request.path, values), filled_query(request.query, values)
        if len(path) + len(urlencode(query)) > MAX_URL:
            raise UsageError(
                f"case {quoted(case.id)} makes a URL of more than {MAX_URL} characters",
                hint="Send {question} in ask.mapped.ask.body.",
            )
        body = None if request.body is None else filled_json(request.body, values)
        headers = {**self._accepted(), **self._headers(case.k or self._settings.k, mode)}
        return Call(method=request.method, path=path, query=query, json=body, headers=headers)

    def parse(self, body: bytes, case: Case) -> Response:
        """Read a 200 body. Whatever no path leads to is ignored.

        Raises:
            ValueError: when something is missing or of another kind: where, what was expected and found, which case.
        """
        return self._read(body, case)[1]

    def _read(self, body: bytes, case: Case) -> tuple[Any, Response]:
        fields, retrieval_only = self._mapped.response, self._settings.retrieval_only
        try:
            root = body_of(body, fields.stream)
            return root, read(root, fields, self._prefixes, retrieval_only=retrieval_only)
        except ValueError as error:
            raise ValueError(f"{error} (case {quoted(case.id, limit=60)})") from None

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands: its health, and what `mapped.index` says.

        Args:
            client: with the API as its base URL; its timeouts hold for every single read.
            ready: the health path, where `mapped.health` is not there.

        Raises:
            httpx.HTTPError: when it cannot be reached yet.
            ValueError: when something stands not where the settings say.
        """
        problem = self._health_problem(client, ready)
        if problem:
            return IndexState(healthy=False, indexing=False, detail=problem)
        if self._mapped.index is None:
            return IndexState(healthy=True, indexing=False)
        return self._index(client, self._mapped.index)

    def _health_problem(self, client: httpx.Client, ready: Readiness) -> str:
        health = self._mapped.health
        path = ready.health_path if health is None else health.path
        status, body = self._fetch(client, "GET", path)
        if health is None:
            return problem_of(path, status, body)
        if status != 200:
            return f"GET {path}: {status_text(status, body)}"
        if health.healthy is None or holds(health.healthy, parsed(body, "the body: ")):
            return ""
        return f"GET {path}: {health.healthy.path} does not say that it is healthy"

    def _index(self, client: httpx.Client, index: IndexRequest) -> IndexState:
        url = f"{index.path}?{urlencode(index.query)}" if index.query else index.path
        status, body = self._fetch(client, index.method, url, index.body)
        if status != 200:
            detail = f"{index.method} {index.path}: {status_text(status, body)}"
            return IndexState(healthy=True, indexing=True, detail=detail)
        root = parsed(body, "the body: ")
        return state_of(index, root)

    def _accepted(self) -> dict[str, str]:
        stream = self._mapped.response.stream
        named = {name.lower() for name in self._mapped.headers}
        return {"Accept": _STREAMS[stream.format]} if stream is not None and "accept" not in named else {}

    def _headers(self, k: int, mode: str) -> dict[str, str]:
        values = {**self._secrets, "k": k, "mode": mode}
        return {name: filled_text(text, values) for name, text in self._mapped.headers.items()}

    def _fetch(self, client: httpx.Client, method: str, url: str, sent: object = None) -> tuple[int, bytes]:
        """Return status and body.

        Raises:
            httpx.HTTPError: when there is no answer, none in time, or a larger one.
        """
        headers = self._headers(self._settings.k, self._settings.modes[0])
        content = None if sent is None else jsonio.dumps(sent)
        headers = headers if content is None else {"Content-Type": "application/json", **headers}
        return fetch_state(client, method, url, headers=headers, content=content)
