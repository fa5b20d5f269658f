"""The address of an API -> what raggate.yml says of it: what it is asked, and where its answer holds what.

Only the host that was named is called, a bounded number of times, and whatever it says is taken for hostile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
from pydantic import TypeAdapter, ValidationError

from raggate.config.mapped_fields import ChunkFields, Stream
from raggate.config.values import HttpUrl
from raggate.errors import CannotTell, UsageError
from raggate.gate.filled_fields import prefix_of
from raggate.service.adapters.ask_index import fetch
from raggate.service.discovery import openapi, replies, shapes
from raggate.service.discovery.headers import Headers
from raggate.service.discovery.openapi import Request
from raggate.service.discovery.replies import Reply
from raggate.service.discovery.separators import separator_of
from raggate.service.discovery.shapes import Shape
from raggate.service.transport import Wire
from raggate.text import deadlines, jsonio
from raggate.text.anchors import Elements
from raggate.text.certificates import checked_by
from raggate.text.nearest import suggestion
from raggate.text.numbers import setting
from raggate.text.quote import cut, enumerated, quoted

SECONDS = 30.0
"""For everything that is asked of the API."""

WITH_SOMEBODY_S = 600.0
"""The same where somebody at a terminal is asked on the way."""

_CALL_S = 5.0
MAX_BODY_BYTES = 4 << 20
MAX_REQUESTS = 12
_NATIVE = "/api/v1/ask"
_DOCUMENTS = ("/openapi.json", "/api/openapi.json", "/v3/api-docs", "/swagger.json")
_HEALTH = ("/health", "/api/health", "/healthz", "/status", "/openapi.json", "/")
_QUESTIONS = ("query", "question", "q", "text", "input", "prompt")
_COUNTS = ("k", "top_k", "limit", "size", "n_results", "max_results")

Choose = Callable[[str, Sequence[str]], str]
"""Asks somebody at a terminal a question; the texts are what can be chosen, none for anything. Untrusted texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is known before the API is called.

    Attributes:
        url: where it runs, with the path of the endpoint or without.
        question: what is asked.
        notes: the notes that it may name: path -> the heading paths of each.
        fields: part of a chunk, or `list` -> its path, as somebody said it.
        headers: what every request is sent with.
        secrets: values that no message may hold.
        choose: asks at a terminal; None where nobody is there to answer.
    """

    url: str
    question: str
    notes: Mapping[str, Collection[Elements]] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    headers: Headers = field(default_factory=Headers)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    choose: Choose | None = None


def discover(wanted: Wanted, transport: httpx.BaseTransport | None = None) -> dict[str, Any]:
    """Call an API and give the sections `api` and `ask` of a configuration for it.

    Args:
        wanted: what is known.
        transport: carries the requests, in place of a connection.

    Raises:
        UsageError: for an address that may not be called, and where something is missing that nobody could be asked.
        CannotTell: when nothing answers there.
    """
    url = _checked(wanted)
    parts = urlsplit(url)
    # what ends in a slash may be another page than what does not
    base, path = f"{parts.scheme}://{parts.netloc}", wanted.url.partition(parts.netloc)[2]
    seconds = SECONDS if wanted.choose is None else WITH_SOMEBODY_S
    hint = "Is it slow, or does it drip its answers?"
    late = CannotTell(f"{base} was not looked at within {setting(seconds)} s", hint=hint)
    with deadlines.within(seconds, late), _calls(base, seconds, transport) as calls:
        return _Discovery(wanted, base, calls).sections(path)


def _checked(wanted: Wanted) -> str:
    strange = next((name for name in wanted.fields if name not in ChunkFields.model_fields), None)
    if strange is not None:
        raise UsageError(
            f"--map: no part of a chunk is called {quoted(strange)}{suggestion(strange, ChunkFields.model_fields)}"
        )
    try:
        return TypeAdapter(HttpUrl).validate_python(wanted.url)
    except ValidationError as error:
        raise UsageError(
            f"--probe: {error.errors(include_url=False)[0]['msg'].removeprefix('Value error, ')}"
        ) from None


@contextmanager
def _calls(base: str, seconds: float, transport: httpx.BaseTransport | None) -> Iterator[httpx.Client]:
    wire = Wire(
        transport or httpx.HTTPTransport(trust_env=False, verify=checked_by(base)),
        deadline=time.monotonic() + seconds,
        seconds=_CALL_S,
        max_bytes=MAX_BODY_BYTES,
        now=time.monotonic,
    )
    with httpx.Client(base_url=base, transport=wire, trust_env=False, follow_redirects=False) as client:
        yield client


@dataclass
class _Discovery:
    """One API as far as it is known."""

    _wanted: Wanted
    _base: str
    _client: httpx.Client
    _tried: list[Reply] = field(default_factory=list)
    _connected: bool = False
    _problem: str = ""

    def sections(self, path: str) -> dict[str, Any]:
        """Give the sections of the configuration."""
        document = self._document()
        if path in ("", "/", _NATIVE) and self._speaks_native():
            return {"api": {"url": self._base}, "ask": {"adapter": "ask"}}
        request, (stream, root), shape = self._answered(self._candidates(document, path))
        chunks = self._chunks(shape, root)
        response: dict[str, Any] = {"chunks": chunks}
        if stream is not None:
            # where each chunk is a document of its own, none comes when nothing is found
            is_kind = isinstance(root, dict) and chunks["list"] in root
            alone = {"none": {"path": chunks["list"], "empty": True}} if is_kind else {}
            response = {"stream": stream.model_dump(exclude_none=True), "chunks": {**chunks, **alone}}
        if shape.answer is not None:
            response["answer"] = shape.answer
        mapped: dict[str, Any] = {}
        if self._wanted.headers.templates:
            mapped = {"headers": dict(self._wanted.headers.templates), "pass_env": [*self._wanted.headers.pass_env]}
        mapped |= {"ask": self._counting(request, shape).template(), "response": response}
        ready = {"health_path": self._health_path(document), "index_path": None}
        return {"api": {"url": self._base, "ready": ready}, "ask": {"adapter": "mapped", "mapped": mapped}}

    def _call(self, request: Request, k: int = 10) -> Reply:
        asked = f"{request.method} {request.path} ({', '.join((*request.query, *(request.body or {})))})"
        values = {"{question}": self._wanted.question, "{k}": k}
        query = {name: str(values.get(text, text)) for name, text in request.query.items()}
        body = None if request.body is None else {name: values.get(text, text) for name, text in request.body.items()}
        json = {"Content-Type": "application/json"} if body is not None else {}
        try:
            status, data = fetch(
                self._client,
                request.method,
                f"{request.path}?{urlencode(query)}" if query else request.path,
                headers={**json, **self._wanted.headers.values},
                content=None if body is None else jsonio.dumps(body),
                limit=MAX_BODY_BYTES,
                seconds=_CALL_S,
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self._problem = cut(error) or type(error).__name__
            # what is larger than an answer may be is an answer all the same
            self._connected = self._connected or isinstance(error, httpx.ReadError)
            return Reply(asked=asked, status=0, problem=self._problem)
        self._connected = True
        return Reply(asked=asked, status=status, data=data)

    def _get(self, path: str) -> Reply:
        return self._call(Request(method="GET", path=path))

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

    def _speaks_native(self) -> bool:
        body = {"question": "{question}", "k": "{k}", "mode": "hybrid"}
        query = {"debug": "true", "retrieval_only": "true"}
        root = self._call(Request(method="POST", path=_NATIVE, query=query, body=body)).json()
        debug = root.get("debug") if isinstance(root, dict) else None
        return isinstance(debug, dict) and isinstance(debug.get("retrieved_chunks"), list)

    def _candidates(self, document: Any, path: str) -> list[Request]:
        if path in ("", "/"):
            described = openapi.requests(document)
            if described:
                return described[:MAX_REQUESTS]
            path = self._asked_path()
        own = openapi.requests(document, path)
        posts = [Request(method="POST", path=path, body={name: "{question}"}) for name in _QUESTIONS]
        gets = [Request(method="GET", path=path, query={name: "{question}"}) for name in _QUESTIONS]
        return own or [*posts, *gets]

    def _asked_path(self) -> str:
        missing = (
            f"{self._base} does not describe itself ({', '.join(_DOCUMENTS)}), so nobody knows what it can be asked"
        )
        hint = f"Name the endpoint too: `--probe {self._base}/search`."
        if self._wanted.choose is None:
            raise UsageError(missing, hint=hint)
        path = self._wanted.choose(f"{missing}. What is the path of its search, such as /search?", ()).strip()
        if not path.startswith("/") or any(sign in path for sign in "?# {}\\"):
            raise UsageError(f"expected a path such as /search, found {quoted(path)}", hint=hint)
        return path

    def _answered(self, candidates: Sequence[Request]) -> tuple[Request, tuple[Stream | None, Any], Shape]:
        """Ask until an answer is understood; give the request, and the answer as it is read."""
        for request in candidates:
            reply = self._call(request)
            for stream, root in reply.readings():
                shape = self._shape(root)
                if shape is not None:
                    return request, (stream, root), shape
            self._tried.append(reply)
        tried = replies.summary(self._tried, self._wanted.secrets)
        problem = f"{self._base}: no answer has a list of chunks that raggate can read"
        raise UsageError([problem, *tried], hint=replies.hint(self._tried))

    def _shape(self, root: Any) -> Shape | None:
        return shapes.recognise(root, self._wanted.notes.keys(), self._wanted.fields.get("list"))

    def _chunks(self, shape: Shape, root: Any) -> dict[str, str]:
        """Give the section of the chunks, with what somebody said before what was recognised."""
        paths_by_part = {"list": shape.list, **shape.fields, **self._wanted.fields}
        if not paths_by_part.keys() & {"rel_path", "doc_id"}:
            paths_by_part["rel_path"] = self._asked_note(shape)
        chunks = {name: paths_by_part[name] for name in ChunkFields.model_fields if name in paths_by_part}
        prefix = self._prefix(chunks, root)
        if prefix and "path_prefix" not in chunks:
            chunks["path_prefix"] = prefix.replace("{", "{{").replace("}", "}}")
        separator = self._separator(chunks, root, prefix or "")
        if separator is not None:
            chunks.setdefault("heading_separator", separator)
        return chunks

    def _asked_note(self, shape: Shape) -> str:
        texts = enumerated(list(shape.texts[:20]))
        missing = f"no part of a chunk in {shape.list} could be recognised as the path of its note"
        if self._wanted.choose is not None and shape.texts:
            return self._wanted.choose(f"{missing}. Which is it?", shape.texts)
        raise UsageError(
            f"{missing}; its texts are {texts or 'none'}",
            hint="`--map rel_path=meta.file` says which, `--map doc_id=id` where it tells an id alone.",
        )

    def _prefix(self, chunks: Mapping[str, str], root: Any) -> str | None:
        paths = [path for path in shapes.values_of("rel_path", chunks, root) if isinstance(path, str)]
        strange = [path for path in paths if path not in self._wanted.notes]
        return prefix_of(strange, set(self._wanted.notes)) if strange and len(strange) == len(paths) else None

    def _separator(self, chunks: Mapping[str, str], root: Any, prefix: str) -> str | None:
        paths, headings = (shapes.values_of(part, chunks, root) for part in ("rel_path", "heading_path"))
        return separator_of(
            (text, self._wanted.notes.get(path.removeprefix(prefix), ()))
            for path, text in zip(paths, headings, strict=False)
            if isinstance(path, str) and isinstance(text, str)
        )

    def _counting(self, request: Request, shape: Shape) -> Request:
        """Add how many chunks are asked for, by the first name that the API obeys."""
        if request.counts or shape.entries < 2:
            return request
        for name in _COUNTS:
            if request.body is not None:
                more = replace(request, body={**request.body, name: "{k}"})
            else:
                more = replace(request, query={**request.query, name: "{k}"})
            fewer = [self._shape(root) for _, root in self._call(more, k=1).readings()]
            if any(one is not None and one.list == shape.list and one.entries == 1 for one in fewer):
                return more
        return request

    def _health_path(self, document: Any) -> str:
        described = openapi.health_paths(document)[:5]
        for path in (*described, *_HEALTH):
            if self._get(path).status == 200:
                return path
        raise UsageError(
            f"{self._base}: none of {', '.join((*described, *_HEALTH))} answers 200, so nobody knows when it is up",
            hint="Let the API answer 200 at /health.",
        )
