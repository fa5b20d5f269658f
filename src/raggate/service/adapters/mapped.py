"""Any JSON API: cases become the configured request, bodies are read by field paths, its index becomes a state."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from raggate.base import jsonio
from raggate.base.errors import UsageError
from raggate.base.field_paths import ABSENT, Entry
from raggate.base.http_client import httpx
from raggate.base.quote import quoted
from raggate.config.ask_settings import Ask
from raggate.config.mapped_settings import ChunkRequest, IndexRequest
from raggate.config.service_settings import ENVIRONMENT, PLACEHOLDER, Readiness, names
from raggate.models.golden import Case
from raggate.models.run import Chunk, Response
from raggate.models.service import Call, IndexState
from raggate.service.adapters.ask import fetch_state, parsed, problem_of, status_text
from raggate.service.adapters.mapped_response import (
    Prefixes,
    body_of,
    heading_path_at,
    holds,
    note_at,
    read,
    refuse_errors,
    state_of,
    text_at,
)
from raggate.service.http_channel import Dialogue

MAX_CHUNKS = 200
"""Chunks of one question that are asked for one by one."""


MAX_URL = 32_000
"""Characters of path and query together; the HTTP library takes no more than about twice that, servers less."""
_STREAMS = {"ndjson": "application/x-ndjson, application/json", "sse": "text/event-stream"}


Values = Mapping[str, Any]
"""What each placeholder stands for; ABSENT for what the case does not say."""


_SENDABLE = re.compile(r"[\x21-\x7e]+(?: +[\x21-\x7e]+)*")


def values_of(case: Case, mode: str, settings: Ask) -> Values:
    """Return what the placeholders of a question stand for."""
    return {
        "question": case.question,
        "k": case.k or settings.k,
        "mode": mode,
        "vaults": list(case.vaults) or ABSENT,
        "folders": list(case.folders) or ABSENT,
        "detail": case.detail or ABSENT,
        "case_id": case.id,
    }


def filled_json(template: Any, values: Values) -> Any:
    """Fill a JSON template. A text that is one placeholder becomes its value; entries without a value are left out."""
    if isinstance(template, str):
        name = _only(template)
        return filled_text(template, values) if name is None else values[name]
    if isinstance(template, list):
        return [value for item in template if (value := filled_json(item, values)) is not ABSENT]
    if isinstance(template, dict):
        pairs = ((key, filled_json(item, values)) for key, item in template.items())
        return {key: value for key, value in pairs if value is not ABSENT}
    return template


def filled_query(template: Mapping[str, str], values: Values) -> dict[str, str]:
    """Fill a query. An entry that is one placeholder without a value is left out."""
    kept = {key: text for key, text in template.items() if (name := _only(text)) is None or values[name] is not ABSENT}
    return {key: filled_text(text, values) for key, text in kept.items()}


def filled_path(template: str, values: Values) -> str:
    """Fill a path; what stands for a placeholder can be one step of it at most."""
    return _filled(template, values, _step)


def filled_text(template: str, values: Values) -> str:
    """Fill a text: lists are joined by commas, what has no value is nothing."""
    return _filled(template, values, str)


def _filled(template: str, values: Values, written: Callable[[str], str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in PLACEHOLDER.finditer(template):
        name = match[1]
        pieces += template[position : match.start()], match[0][0] if name is None else written(_text(values[name]))
        position = match.end()
    return "".join((*pieces, template[position:]))


def _only(template: str) -> str | None:
    """Return the name of the placeholder that is all of a text, if that is so."""
    match = PLACEHOLDER.fullmatch(template)
    return match[1] if match else None


def _text(value: Any) -> str:
    if value is ABSENT:
        return ""
    return ",".join(value) if isinstance(value, list) else str(value)


def _step(text: str) -> str:
    # a step of dots alone would be taken for the directory above
    return "%2E" * len(text) if text in {".", ".."} else quote(text, safe="")


def prefixes(written: str | None, vault_names: Sequence[str]) -> Prefixes:
    """Return what paths may begin with, longest first, and the vault that tells."""
    if not written:
        return ()
    if "vault" not in names(written):
        return ((filled_text(written, {}), None),)
    pairs = [(filled_text(written, {"vault": name}), name) for name in vault_names]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def variables(headers: Mapping[str, str], environment: Mapping[str, str], key: str) -> dict[str, str]:
    """Return the variables that headers name, by placeholder.

    Args:
        key: where the headers stand in the configuration, for messages.
    """
    values: dict[str, str] = {}
    for header, template in headers.items():
        for name in names(template):
            if not name.startswith(ENVIRONMENT):
                continue
            variable = name.removeprefix(ENVIRONMENT)
            # a final line end is easily stored with a secret
            value = environment.get(variable, "").strip()
            if not value:
                raise UsageError(
                    f"the environment variable {variable}, which {key}.{header} needs, is not set",
                    hint=f"Set it, on GitHub as `env: {{{variable}: ...}}` of the step. "
                    "Pull requests from forks get no secrets.",
                )
            if not _SENDABLE.fullmatch(value):
                raise UsageError(f"the environment variable {variable} has characters that no header can have")
            values[name] = value
    return values


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
        """Return the HTTP call that asks one case in one mode."""
        request = self._mapped.ask
        values = values_of(case, mode, self._settings)
        path, query = filled_path(request.path, values), filled_query(request.query, values)
        if len(path) + len(urlencode(query)) > MAX_URL:
            raise UsageError(
                f"case {quoted(case.id)} makes a URL of more than {MAX_URL} characters",
                hint="Send {question} in ask.mapped.ask.body.",
            )
        body = None if request.body is None else filled_json(request.body, values)
        headers = {**self._accepted(), **self._headers(case.k or self._settings.k, mode)}
        return Call(method=request.method, path=path, query=query, json=body, headers=headers)

    def dialogue(self, case: Case, mode: str) -> Dialogue:
        """Ask one case in one mode, and then for what each chunk lacks, if the settings say so."""
        response = self.parse((yield self.call(case, mode)), case)
        if self._mapped.chunk is None:
            return response
        headers = self._headers(case.k or self._settings.k, mode)
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

    def parse(self, body: bytes, case: Case) -> Response:
        """Read a 200 body. Whatever no path leads to is ignored.

        Raises:
            ValueError: when something is missing or of another kind: where, what was expected and found, which case.
        """
        fields, retrieval_only = self._mapped.response, self._settings.retrieval_only
        try:
            return read(body_of(body, fields.stream), fields, self._prefixes, retrieval_only=retrieval_only)
        except ValueError as error:
            raise ValueError(f"{error} (case {quoted(case.id, limit=60)})") from None

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands: its health, and what `mapped.index` says.

        Args:
            client: with the API as its base URL; its timeouts hold for every single read.
            ready: the health path, where `mapped.health` is not there.
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
        """Return status and body."""
        headers = self._headers(self._settings.k, self._settings.modes[0])
        content = None if sent is None else jsonio.dumps(sent)
        headers = headers if content is None else {"Content-Type": "application/json", **headers}
        return fetch_state(client, method, url, headers=headers, content=content)
