"""An OpenAPI document -> the requests of it that look like a search, likeliest first. Pure.

The document is hostile input: it is bounded by its reader, nothing outside of it is looked up, and what is followed in
it is followed so many steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from raggate.service.discovery.names import COUNT, ENDPOINTS, HEALTH, QUESTION, SURELY_A_QUESTION, best, plain_name

MAX_PATHS = 1_000
MAX_PROPERTIES = 200
MAX_STEPS = 10
_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,300}")
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request template, as `ask.mapped.ask` has it."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def counts(self) -> bool:
        """Whether it says how many chunks it wants."""
        return "{k}" in (*self.query.values(), *(self.body or {}).values())

    def template(self) -> dict[str, Any]:
        """Give it as the configuration has it."""
        template: dict[str, Any] = {"method": self.method, "path": self.path}
        if self.query:
            template["query"] = dict(self.query)
        if self.body is not None:
            template["body"] = dict(self.body)
        return template


def requests(document: Any, at: str | None = None) -> list[Request]:
    """Give the requests that take a question, likeliest first; those of one path where it is known.

    One that nobody named may write what it is sent: then only those are given that say by their path that they search,
    or that call what they take a question.
    """
    requests = [
        (_unlikely(request.path), request.path, request)
        for path, method, operation in _operations(document, at)
        if (request := _request(document, path, method, operation)) is not None
        and (at is not None or request.method == "GET" or _searches(request))
    ]
    return [request for _, _, request in sorted(requests, key=lambda item: item[:2])]


def health_paths(document: Any) -> list[str]:
    """Give the paths that look as if they told health."""
    paths = [path for path, method, _ in _operations(document) if method == "get"]
    return [path for path in paths if plain_name(path.rstrip("/").rpartition("/")[2]) in HEALTH]


def _operations(document: Any, at: str | None = None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    paths = _mapping(_mapping(document).get("paths"))
    for path, item in islice(paths.items(), MAX_PATHS):
        # a path with a parameter needs a value, which only the one that is known has
        if not (_PATH.fullmatch(path) if at is None else _describes(path, at)):
            continue
        for method in ("get", "post"):
            operation = _mapping(item).get(method)
            if isinstance(operation, dict):
                yield path if at is None else at, method, operation


def _describes(template: str, path: str) -> bool:
    """Say whether a path is one of those that a template such as `/projects/{id}/search` stands for."""
    steps, wanted = template.split("/"), path.split("/")
    return len(steps) == len(wanted) and all(
        step == value or (step.startswith("{") and step.endswith("}") and value != "")
        for step, value in zip(steps, wanted, strict=True)
    )


def _request(document: Any, path: str, method: str, operation: dict[str, Any]) -> Request | None:
    entries = [_mapping(parameter) for parameter in _list(operation.get("parameters"))[:MAX_PROPERTIES]]
    query = [str(entry["name"]) for entry in entries if entry.get("in") == "query" and _is_name(entry.get("name"))]
    if method == "get":
        asked = best(query, QUESTION)
        return None if asked is None else Request(method="GET", path=path, query=_filled(query, asked))
    content = _mapping(_mapping(_resolved(document, operation.get("requestBody"))).get("content"))
    schema = _resolved(document, _mapping(content.get("application/json")).get("schema"))
    properties = dict(islice(_mapping(_mapping(schema).get("properties")).items(), MAX_PROPERTIES))
    texts = [name for name in properties if _is_name(name) and _is_text(_resolved(document, properties[name]))]
    asked = best(texts, QUESTION)
    if asked is None:
        return None
    body: dict[str, Any] = _filled([name for name in properties if _is_name(name)], asked)
    for name in _list(_mapping(schema).get("required"))[:MAX_PROPERTIES]:
        if _is_name(name) and name not in body:
            value = _example(_mapping(_resolved(document, properties.get(name))))
            if value is None:
                return None
            body[name] = value
    request = Request(method="POST", path=path, body=body)
    count = None if request.counts else best(query, COUNT)
    return request if count is None else replace(request, query={count: "{k}"})


def _filled(names: list[str], asked: str) -> dict[str, str]:
    count = best([name for name in names if name != asked], COUNT)
    return {asked: "{question}", **({count: "{k}"} if count is not None else {})}


def _example(schema: dict[str, Any]) -> Any:
    """Give a value that a required property can have; None when the document names none."""
    values = (schema.get("default"), schema.get("const"), *_list(schema.get("enum"))[:1])
    return next((value for value in values if type(value) in (bool, int) or _is_name(value)), None)


def _resolved(document: Any, schema: Any) -> Any:
    """Follow references within the document."""
    for _ in range(MAX_STEPS):
        reference = _mapping(schema).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        schema = document
        for step in reference[2:].split("/", MAX_STEPS):
            schema = _mapping(schema).get(step.replace("~1", "/").replace("~0", "~"))
    return None


def _is_text(schema: Any) -> bool:
    kinds = _mapping(schema)
    either = _list(kinds.get("anyOf")) or _list(kinds.get("oneOf"))
    return kinds.get("type", "string" if not kinds.get("anyOf") else None) == "string" or any(
        _mapping(kind).get("type") == "string" for kind in either[:MAX_STEPS]
    )


def _searches(request: Request) -> bool:
    named = any(plain_name(name) in SURELY_A_QUESTION for name in request.body or ())
    return named or _unlikely(request.path) < len(ENDPOINTS)


def _unlikely(path: str) -> int:
    words = [plain_name(word) for word in path.split("/")]
    places = [place for place, name in enumerate(ENDPOINTS) if any(name in word for word in words)]
    return min(places, default=len(ENDPOINTS))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(_NAME.fullmatch(value))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
