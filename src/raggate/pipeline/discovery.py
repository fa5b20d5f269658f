"""The address of an API -> what raggate.yml says of it: what it is asked, and where its answer holds what.

Only the host that was named is called, a bounded number of times, and whatever it says is taken for hostile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from raggate.base import dates, jsonio
from raggate.base.certificates import checked_by
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.base.numbers import setting
from raggate.base.quote import cut
from raggate.config.ask_settings import MCP_PATH
from raggate.config.values import HttpUrl
from raggate.pipeline import tool_discovery
from raggate.pipeline.tool_discovery import Wanted, check_fields, chunks_of, shape_of
from raggate.service.adapters.ask import fetch
from raggate.service.adapters.mapped import filled_json, filled_path
from raggate.service.adapters.mapped_response import StreamBy
from raggate.service.discovery import openapi
from raggate.service.discovery.openapi import Reply, Request
from raggate.service.discovery.shapes import Shape
from raggate.service.engines import NO_WORDS, SIGNS, engine_at
from raggate.service.transport import Wire

SECONDS = 30.0
"""For everything that is asked of the API."""

_CALL_S = 5.0
MAX_BODY_BYTES = 4 << 20
MAX_REQUESTS = 12
_NATIVE = "/api/v1/ask"
_VECTORS_ONLY = "chroma"
_DOCUMENTS = ("/openapi.json", "/api/openapi.json", "/v3/api-docs", "/swagger.json")
_HEALTH = (
    *("/health", "/api/health", "/healthz", "/readyz", "/livez", "/ready", "/live", "/ping", "/status"),
    *("/openapi.json", "/"),
)
_QUESTIONS = ("query", "question", "q", "text", "input", "prompt")
_COUNTS = ("k", "top_k", "limit", "size", "n_results", "max_results", "similarity_top_k")


def discover(wanted: Wanted, transport: httpx.BaseTransport | None = None) -> dict[str, Any]:
    """Call an API and give the sections `api` and `ask` of a configuration for it, and the one vault that it names."""
    check_fields(wanted)
    try:
        url = TypeAdapter(HttpUrl).validate_python(wanted.url)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise UsageError(f"--probe: {problem}") from None
    parts = urlsplit(url)
    # what ends in a slash may be another page than what does not
    base, path = f"{parts.scheme}://{parts.netloc}", wanted.url.partition(parts.netloc)[2]
    hint = "Is it slow, or does it send its answers bit by bit?"
    late = CannotTell(f"{base} did not answer everything within {setting(SECONDS)} s", hint=hint)
    with dates.within(SECONDS, late), _calls(base, transport) as calls:
        return _Discovery(wanted, base, calls).sections(path)


def refuse_other_engine(preset: str, url: str, transport: httpx.BaseTransport | None = None) -> None:
    """Refuse a preset at the address of an engine that is another, or that takes no words."""
    with _calls(url, transport) as calls:
        engine = _Discovery(Wanted(url=url, question=""), url, calls).engine()
    if engine == _VECTORS_ONLY:
        raise UsageError(f"{url} takes vectors and no words", hint=NO_WORDS)
    if engine not in ("", preset):
        raise UsageError(f"{url} is not for the preset {preset}", hint=f"It is {engine}: `--preset {engine}`.")


@contextmanager
def _calls(base: str, transport: httpx.BaseTransport | None) -> Iterator[httpx.Client]:
    wire = Wire(
        transport or httpx.HTTPTransport(trust_env=False, verify=checked_by(base)),
        deadline=time.monotonic() + SECONDS,
        seconds=_CALL_S,
        max_bytes=MAX_BODY_BYTES,
        now=time.monotonic,
    )
    with httpx.Client(base_url=base, transport=wire, trust_env=False, follow_redirects=False) as client:
        yield client


class _Discovery(Struct):
    """One API as far as it is known."""

    _wanted: Wanted
    _base: str
    _client: httpx.Client
    _tried: list[Reply] = field(default_factory=list)
    _connected: bool = False
    _problem: str = ""

    def sections(self, path: str) -> dict[str, Any]:
        """Return the sections of the configuration."""
        unnamed = path in ("", "/")
        if "mcp" in path.rpartition("/")[2].lower() or self._wanted.tool:
            return self._tool(MCP_PATH if unnamed else path)
        document = self._document()
        native = self._native_chunks() if path in ("", "/", _NATIVE) else None
        if native is not None:
            vaults = {str(chunk.get("vault") or "") for chunk in native if isinstance(chunk, dict)}
            of_one = {"vault": vaults.pop()} if len(vaults) == 1 else {}
            return {**of_one, "api": {"url": self._base}, "ask": {"adapter": "ask"}}
        usual = MCP_PATH
        # many servers are mounted behind a slash, and redirect there
        for place in (usual, f"{usual}/") if unnamed and document is None else ():
            if self._greets(place):
                return self._tool(place)
        try:
            request, reading, shape = self._answered(self._candidates(document, path))
        except UsageError:
            if unnamed or not self._greets(path):
                raise
            return self._tool(path)
        response, asked = self._response(reading, shape), self._counting(request, shape)
        headers = {"headers": dict(self._wanted.headers.templates)} if self._wanted.headers.templates else {}
        ask = {"adapter": "mapped", **headers, **asked.template(), "response": response}
        ready = {"health_path": self._health_path(document)}
        return {"api": {"url": self._base, "ready": ready}, "ask": ask}

    def _greets(self, path: str) -> bool:
        return tool_discovery.greets(self._client, path, self._wanted)

    def _tool(self, path: str) -> dict[str, Any]:
        return {"api": {"url": self._base}, "ask": tool_discovery.section(self._client, path, self._wanted)}

    def _response(self, reading: tuple[StreamBy, Any], shape: Shape) -> dict[str, Any]:
        stream, root = reading
        chunks = chunks_of(shape, root, self._wanted)
        response: dict[str, Any] = {"chunks": chunks}
        if stream is not None:
            # where each chunk is a document of its own, none comes when nothing is found
            is_kind = isinstance(root, dict) and chunks["list"] in root
            alone: dict[str, Any] = {"none": {chunks["list"]: []}} if is_kind else {}
            response = {"stream": stream, "chunks": {**chunks, **alone}}
        return response if shape.answer is None else {**response, "answer": shape.answer}

    def _call(self, request: Request, k: int = 10) -> Reply:
        values = {"question": self._wanted.question, "k": k}
        body = None if request.body is None else filled_json(dict(request.body), values)
        json = {"Content-Type": "application/json"} if body is not None else {}
        try:
            status, data = fetch(
                self._client,
                request.method,
                filled_path(request.target, values),
                headers={**json, **self._wanted.headers.values},
                content=None if body is None else jsonio.dumps(body),
                limit=MAX_BODY_BYTES,
                seconds=_CALL_S,
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self._problem = cut(error) or type(error).__name__
            # what is larger than an answer may be is an answer all the same
            self._connected = self._connected or isinstance(error, httpx.ReadError)
            return Reply(asked=request.in_words, status=0, problem=self._problem)
        self._connected = True
        return Reply(asked=request.in_words, status=status, data=data)

    def _get(self, path: str) -> Reply:
        return self._call(Request(path=path))

    def _document(self) -> Any:
        """Read what the API says of itself; None where it says nothing."""
        for path in _DOCUMENTS:
            reply = self._get(path)
            document = reply.json()
            if reply.status == 200 and isinstance(document, dict) and "paths" in document:
                return document
            if not self._connected:
                plain = self._base.startswith("https:") and "WRONG_VERSION_NUMBER" in self._problem
                hint = "It does not speak HTTPS there: is it `http://`?" if plain else "Is the API up?"
                raise CannotTell(f"{self._base} does not answer: {self._problem}", hint=hint)
        return None

    def _native_chunks(self) -> list[Any] | None:
        body = {"question": "{question}", "k": "{k}", "mode": "hybrid"}
        query = {"debug": "true", "retrieval_only": "true"}
        root = self._call(Request(path=_NATIVE, query=query, body=body)).json()
        debug = root.get("debug") if isinstance(root, dict) else None
        chunks = debug.get("retrieved_chunks") if isinstance(debug, dict) else None
        return chunks if isinstance(chunks, list) else None

    def _candidates(self, document: Any, path: str) -> list[Request]:
        unnamed = path in ("", "/")
        described = openapi.requests(document) if unnamed and not self._wanted.body else []
        if unnamed and not described:
            raise self._no_path(document)
        if self._wanted.body:
            return [Request(path=path, body=self._wanted.body)]
        if described:
            return described[:MAX_REQUESTS]
        own = openapi.requests(document, path)
        posts = [Request(path=path, body={name: "{question}"}) for name in _QUESTIONS]
        gets = [Request(path=path, query={name: "{question}"}) for name in _QUESTIONS]
        return own or [*posts, *gets]

    def _preset(self) -> str:
        """Return the hint for the engine that answers here; nothing if it is none that is known."""
        engine = self.engine()
        if engine == _VECTORS_ONLY:
            return NO_WORDS
        return f"This is an engine with a preset: `--preset {engine} --probe {self._base}`." if engine else ""

    def engine(self) -> str:
        """Return the preset of the engine that answers here; nothing if it is none that is known."""
        for path in SIGNS:
            name = engine_at(path, self._get(path).json())
            if name or not self._connected:
                return name
        return ""

    def _no_path(self, document: Any) -> UsageError:
        missing = f"{self._base} describes nothing that looks like a search"
        if document is None:
            missing = (
                f"{self._base} has no API description ({', '.join(_DOCUMENTS)}), so raggate cannot tell what to send"
            )
        path = next(openapi.left_out(document), "")
        if path:
            missing = f"{missing}, except {path}, whose name suggests that it may write"
        hint = self._preset() or f"Name the endpoint too: `--probe {self._base}{path or '/search'}`."
        return UsageError(missing, hint=hint)

    def _answered(self, candidates: Sequence[Request]) -> tuple[Request, tuple[StreamBy, Any], Shape]:
        """Ask until an answer is understood; give the request, and the answer as it is read."""
        for request in candidates:
            reply = self._call(request)
            for stream, root in reply.readings():
                shape = shape_of(root, self._wanted)
                if shape is not None:
                    return request, (stream, root), shape
            self._tried.append(reply)
        tried = openapi.summary(self._tried, self._wanted.secrets)
        problem = f"{self._base}: no answer has a list of passages that raggate can read"
        raise UsageError([problem, *tried], hint=self._preset() or openapi.hint(self._tried))

    def _counting(self, request: Request, shape: Shape) -> Request:
        if request.counts or shape.entries < 2:
            return request
        for name in _COUNTS:
            if request.body is not None:
                more = replace(request, body={**request.body, name: "{k}"})
            else:
                more = replace(request, query={**request.query, name: "{k}"})
            fewer = [shape_of(root, self._wanted) for _, root in self._call(more, k=1).readings()]
            if any(other is not None and other.list == shape.list and other.entries == 1 for other in fewer):
                return more
        return request

    def _health_path(self, document: Any) -> str:
        usual = (*openapi.health_paths(document)[:5], *_HEALTH)
        paths = (self._wanted.health,) if self._wanted.health else usual
        for path in paths:
            if self._get(path).status == 200:
                return path
        raise UsageError(
            f"{self._base}: none of {', '.join(paths)} answers 200, so raggate cannot tell when the API is up",
            hint="Name the path that does: `--health /path`.",
        )
