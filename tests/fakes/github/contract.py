"""GitHub's API description -> routes, what does not fit it in a request or a response, and filled-in objects."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from openapi_core import Config, OpenAPI
from openapi_core.datatypes import Headers, RequestParameters
from openapi_core.exceptions import OpenAPIError
from werkzeug.datastructures import ImmutableMultiDict

HERE = Path(__file__).parent
HOST = "http://fake"
MULTI_SEGMENT = {"path", "ref", "branch", "basehead"}
_MOMENT = "2026-01-01T00:00:00Z"
_PORT = re.compile(rb"(//127\.0\.0\.1):\d+\b")


@dataclass(frozen=True)
class Route:
    """One operation: its id, method, path template and description."""

    operation: str
    method: str
    template: str
    pattern: re.Pattern[str]
    description: Mapping[str, Any]

    @property
    def query_names(self) -> set[str]:
        """Name the query parameters, references among them left out."""
        return {p["name"] for p in self.description.get("parameters", ()) if p.get("in") == "query"}


@dataclass(frozen=True)
class _Asked:
    """A request as openapi-core wants to see it."""

    method: str
    path: str
    parameters: RequestParameters
    body: bytes | None
    content_type: str = "application/json"
    host_url: str = HOST


@dataclass(frozen=True)
class _Answered:
    """A response as openapi-core wants to see it."""

    data: bytes | None
    status_code: int
    content_type: str
    headers: Headers = field(default_factory=Headers)


class Contract:
    """What one version of GitHub accepts and answers."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._lock = threading.Lock()
        self._checked: dict[tuple[Hashable, ...], tuple[str, ...]] = {}
        self._neutral_objects: dict[int, dict[str, Any]] = {}
        self._whole = {**description, "servers": [{"url": HOST}]}
        # that the description itself is one is told by a test of its own: it takes seconds in every process
        self._api = OpenAPI.from_dict(self._whole, config=Config(spec_validator_cls=None))
        self.routes = sorted(self._routes(), key=lambda route: -len(re.sub(r"{\w+}", "", route.template)))

    def _routes(self) -> Iterator[Route]:
        for template, item in self._whole["paths"].items():
            pattern = re.sub(
                r"\\{(\w+)\\}",
                lambda match: f"(?P<{match[1]}>{'.*' if match[1] in MULTI_SEGMENT else '[^/]+'})",
                re.escape(template),
            )
            for method, operation in item.items():
                parameters = [self._resolved(parameter) for parameter in operation.get("parameters", ())]
                described = {**operation, "parameters": parameters}
                yield Route(operation["operationId"], method.upper(), template, re.compile(pattern), described)

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        """Find the operation of a path and its parameters, unquoted."""
        for route in self.routes:
            if route.method == method and (match := route.pattern.fullmatch(path)):
                return route, {name: unquote(value) for name, value in match.groupdict().items()}
        return None

    def request_problems(
        self, route: Route, parameters: Mapping[str, str], *, query: list[tuple[str, str]], body: bytes | None
    ) -> list[str]:
        """List the mismatches of a request: path, query and body; names that the description does not know count."""
        key = ("request", route.operation, *sorted(parameters.items()), "?", *query)
        return self._once(key, body, lambda same: self._request_problems(route, parameters, query=query, body=same))

    def _request_problems(
        self, route: Route, parameters: Mapping[str, str], *, query: list[tuple[str, str]], body: bytes | None
    ) -> list[str]:
        asked = self._asked(route, parameters, query=query, body=body)
        problems = [f"unknown query parameter {name}" for name, _ in query if name not in route.query_names]
        names = [name for name, _ in query]
        problems += [f"query parameter {name} given twice" for name in {n for n in names if names.count(n) > 1}]
        if body is not None and "requestBody" not in route.description:
            problems.append("a body where none is described")
        try:
            with self._lock:
                self._api.validate_request(asked)
        except OpenAPIError as error:
            problems.append(_told(error))
            return problems
        if body is not None and "requestBody" in route.description:
            schema = route.description["requestBody"]["content"]["application/json"]["schema"]
            problems += [f"unknown field {name}" for name in self._unknown(schema, json.loads(body), "")]
        return problems

    def response_problems(
        self, route: Route, parameters: Mapping[str, str], *, status: int, body: bytes, content_type: str
    ) -> list[str]:
        """List the mismatches of an answer.

        GitHub describes few of its errors: one whose status is not described only has to carry a message. Contents
        asked for as raw bytes have no schema.
        """
        # what an answer may hold does not depend on the parameters of its address
        key = ("response", route.operation, status, content_type)
        return self._once(
            key,
            body,
            lambda same: self._response_problems(
                route, parameters, status=status, body=same or b"", content_type=content_type
            ),
        )

    def _response_problems(
        self, route: Route, parameters: Mapping[str, str], *, status: int, body: bytes, content_type: str
    ) -> list[str]:
        if "raw" in content_type:
            return []
        described = route.description["responses"].get(str(status))
        if described is None and status >= 400:
            return [] if isinstance(json.loads(body).get("message"), str) else ["an error without a message"]
        if described is not None and "content" not in self._resolved(described):
            return [f"status {status} is described without a body"] if body else []
        asked = self._asked(route, parameters, query=[], body=None)
        try:
            with self._lock:
                self._api.validate_response(asked, _Answered(body, status, content_type))
        except OpenAPIError as error:
            return [_told(error)]
        return []

    def _once(
        self, key: tuple[Hashable, ...], body: bytes | None, check: Callable[[bytes | None], list[str]]
    ) -> list[str]:
        """Check what was not checked before: many exchanges of a test are those of another test.

        Two bodies are the same when they differ in nothing but the port that a fake happens to listen on.
        """
        same = None if body is None else _PORT.sub(rb"\1:1", body)
        exact = (*key, None if same is None else hashlib.sha256(same).digest())
        if exact not in self._checked:
            self._checked[exact] = tuple(check(same))
        return list(self._checked[exact])

    def knows(self, schema: str, name: str) -> bool:
        """Return whether this version of GitHub has a field."""
        return name in self._whole["components"]["schemas"][schema]["properties"]

    def fill(self, schema: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Complete an object with neutral values for what `values` lack; their addresses lead nowhere."""
        return self._filled({"$ref": f"#/components/schemas/{schema}"}, dict(values))

    def _asked(
        self, route: Route, parameters: Mapping[str, str], *, query: list[tuple[str, str]], body: bytes | None
    ) -> _Asked:
        # a parameter that holds slashes is one segment for openapi-core
        path = route.template.format(**{name: quote(value, safe="") or "-" for name, value in parameters.items()})
        return _Asked(route.method.lower(), path, RequestParameters(query=ImmutableMultiDict(query)), body)

    def _resolved(self, node: Any) -> Any:
        while "$ref" in node:
            _, _, kind, name = node["$ref"].split("/")
            node = self._whole["components"][kind][name]
        return node

    def _unknown(self, schema: Any, value: Any, where: str) -> Iterator[str]:
        known = self._properties(schema)
        if isinstance(value, list):
            for item in value:
                yield from self._unknown(self._resolved(schema).get("items", {}), item, f"{where}[]")
        if not isinstance(value, dict) or not known:
            return
        for name, part in value.items():
            if name in known:
                yield from self._unknown(known[name], part, f"{where}.{name}")
            else:
                yield f"{where}.{name}".removeprefix(".")

    def _properties(self, schema: Any) -> dict[str, Any]:
        schema = self._resolved(schema)
        known = dict(schema.get("properties", {}))
        for alternative in [*schema.get("anyOf", ()), *schema.get("allOf", ())]:
            known.update(self._properties(alternative))
        return known

    def _filled(self, schema: Any, value: Any) -> Any:
        if not isinstance(value, list | dict):
            return value
        schema = self._resolved(schema)
        if "anyOf" in schema and "properties" not in schema:
            schema = self._resolved(schema["anyOf"][0])
        if isinstance(value, list):
            return [self._filled(schema.get("items", {}), item) for item in value]
        known = schema.get("properties", {})
        return {**self._required(schema), **{name: self._filled(known.get(name, {}), value[name]) for name in value}}

    def _required(self, schema: Any) -> dict[str, Any]:
        """Return neutral values for all that an object must have, made once for each schema of the description."""
        if not schema.get("required"):
            return {}
        if id(schema) not in self._neutral_objects:
            known = schema.get("properties", {})
            neutral = {name: self._neutral(self._resolved(known.get(name, {}))) for name in schema["required"]}
            self._neutral_objects[id(schema)] = neutral
        return self._neutral_objects[id(schema)]

    def _neutral(self, schema: Any) -> Any:
        if schema.get("nullable"):
            return None
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type")
        if kind == "string":
            return {"uri": HOST, "date-time": _MOMENT}.get(schema.get("format"), HOST if "format" not in schema else "")
        if kind == "object" or "properties" in schema:
            return self._required(schema)
        return {"array": [], "integer": 0, "number": 0, "boolean": False}.get(kind)


def _told(error: BaseException) -> str:
    """Return the reason of a refusal, which openapi-core keeps in the causes."""
    told, details = [], []
    cause: BaseException | None = error
    while cause is not None:
        told.append(str(cause)[:200])
        details += [f"{one.json_path}: {one.message[-200:]}" for one in getattr(cause, "schema_errors", None) or ()]
        cause = cause.__cause__
    return "; ".join(details or told)


@functools.cache
def load(flavour: str) -> Contract:
    """Load `api.github.com` or `ghes-3.17`, once per process: it takes a third of a second."""
    return Contract(json.loads((HERE / f"{flavour}.json").read_text(encoding="utf-8")))
