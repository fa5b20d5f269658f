"""An OpenAPI document -> the requests of it that look like a search, likeliest first. Pure.

The document is hostile input: it is bounded by its reader, nothing outside of it is looked up, and what is followed in
it is followed so many steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.service.discovery.json_schemas import MAX_PROPERTIES, filled, is_name, listed, mapping, named, resolved
from raggate.service.discovery.names import (
    COUNT,
    ENDPOINTS,
    HEALTH,
    QUESTION,
    SURELY_A_QUESTION,
    WRITES,
    best,
    plain_name,
    unlikely,
    words_in,
)
from raggate.text import jsonio

MAX_PATHS = 1_000
_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,300}")


class Request(Struct, frozen=True, kw_only=True):
    """A request template, as `ask.mapped.ask` has it."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def counts(self) -> bool:
        """Whether it says how many chunks it wants."""
        return "{k}" in self.query.values() or b'"{k}"' in jsonio.dumps(self.body)

    @property
    def in_words(self) -> str:
        """Name it in words."""
        return f"{self.method} {self.path} ({', '.join((*self.query, *(self.body or {})))})"

    def template(self) -> dict[str, Any]:
        """Return it as the configuration has it."""
        template: dict[str, Any] = {"method": self.method, "path": self.path}
        if self.query:
            template["query"] = dict(self.query)
        if self.body is not None:
            template["body"] = dict(self.body)
        return template


def requests(document: Any, at: str | None = None) -> list[Request]:
    """Return the requests that take a question, likeliest first; those of one path where it is known.

    One that nobody named may write what it is sent: then only those are given that say by their path that they search,
    or that call what they take a question, and by no word of their path or name that they write.
    """
    requests = [
        (unlikely(request.path), request.path, request)
        for path, method, operation in _operations(document, at)
        if (request := _request(document, path, method, operation)) is not None
        and (at is not None or (not _writes(request, operation) and (request.method == "GET" or _searches(request))))
    ]
    return [request for _, _, request in sorted(requests, key=lambda item: item[:2])]


def left_out(document: Any) -> Iterator[str]:
    """Yield the paths that say that they search and are not tried all the same, as they say that they write."""
    for path, method, operation in _operations(document):
        request = _request(document, path, method, operation)
        if request is not None and _searches(request) and _writes(request, operation):
            yield path


def health_paths(document: Any) -> list[str]:
    """Return the paths that look as if they told health."""
    paths = [path for path, method, _ in _operations(document) if method == "get"]
    return [path for path in paths if plain_name(path.rstrip("/").rpartition("/")[2]) in HEALTH]


def _operations(document: Any, at: str | None = None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    paths, base = mapping(mapping(document).get("paths")), _base_path(document)
    for path, item in ((base + path, item) for path, item in islice(paths.items(), MAX_PATHS)):
        # a path with a parameter needs a value, which only the one that is known has
        if not (_PATH.fullmatch(path) if at is None else _describes(path, at)):
            continue
        for method in ("get", "post"):
            operation = mapping(item).get(method)
            if isinstance(operation, dict):
                yield path if at is None else at, method, operation


def _base_path(document: Any) -> str:
    """Return what stands before all paths of a document: `basePath` of its second version, a server of its third."""
    servers = [mapping(server).get("url") for server in listed(mapping(document).get("servers"))[:1]]
    base = mapping(document).get("basePath", *servers)
    try:
        path = urlsplit(base).path.rstrip("/") if isinstance(base, str) else ""
    except ValueError:
        return ""
    return path if _PATH.fullmatch(path) else ""


def _describes(template: str, path: str) -> bool:
    """Return whether a path is one of those that a template such as `/projects/{id}/search` stands for."""
    steps, wanted = template.split("/"), path.split("/")
    return len(steps) == len(wanted) and all(
        step == value or (step.startswith("{") and step.endswith("}") and value != "")
        for step, value in zip(steps, wanted, strict=True)
    )


def _request(document: Any, path: str, method: str, operation: dict[str, Any]) -> Request | None:
    entries = [mapping(parameter) for parameter in listed(operation.get("parameters"))[:MAX_PROPERTIES]]
    query = [str(entry["name"]) for entry in entries if entry.get("in") == "query" and is_name(entry.get("name"))]
    if method == "get":
        asked = best(query, QUESTION)
        return None if asked is None else Request(method="GET", path=path, query=named(query, asked))
    content = mapping(mapping(resolved(document, operation.get("requestBody"))).get("content"))
    schema = resolved(document, mapping(content.get("application/json")).get("schema"))
    body = filled(schema, document)
    if body is None:
        return None
    request = Request(method="POST", path=path, body=body)
    count = None if request.counts else best(query, COUNT)
    return request if count is None else replace(request, query={count: "{k}"})


def _searches(request: Request) -> bool:
    asks = any(plain_name(name) in SURELY_A_QUESTION for name in request.body or ())
    return asks or unlikely(request.path) < len(ENDPOINTS)


def _writes(request: Request, operation: dict[str, Any]) -> bool:
    name = operation.get("operationId")
    return not WRITES.isdisjoint(words_in(request.path) + words_in(name if isinstance(name, str) else ""))
