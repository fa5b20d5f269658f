"""How an API that nobody has described can be asked: by its OpenAPI document, its engine, and its replies. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base import jsonio, redact
from raggate.base.numbers import counted
from raggate.base.quote import cut
from raggate.service.adapters.mapped_response import StreamBy, body_of
from raggate.service.discovery import shapes
from raggate.service.discovery.shapes import best, plain_name, unlikely, words_in
from raggate.service.transport import UNNAMED

MAX_PATHS = 1_000
_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,300}")
MAX_PROPERTIES = 200
MAX_STEPS = 10
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,100}")
STREAMS: tuple[StreamBy, ...] = ("type", True)
"""How an answer that is no JSON may be read, what tells most kinds apart first."""
_EXCERPT = 120
REDIRECTED = "raggate follows no redirects: give the address that they lead to."


class Request(Struct, frozen=True, kw_only=True):
    """A request template; one with a body is a POST."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    @property
    def counts(self) -> bool:
        return "{k}" in self.query.values() or b'"{k}"' in jsonio.dumps(self.body)

    @property
    def in_words(self) -> str:
        return f"{self.method} {self.path} ({', '.join((*self.query, *(self.body or {})))})"

    @property
    def target(self) -> str:
        query = "&".join(f"{name}={text}" for name, text in self.query.items())
        return f"{self.path}?{query}" if query else self.path

    def template(self) -> dict[str, Any]:
        return {"path": self.target, **({} if self.body is None else {"body": dict(self.body)})}


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
    return [path for path in paths if plain_name(path.rstrip("/").rpartition("/")[2]) in shapes.HEALTH]


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
        asked = best(query, shapes.QUESTION)
        return None if asked is None else Request(path=path, query=named(query, asked))
    content = mapping(mapping(resolved(document, operation.get("requestBody"))).get("content"))
    schema = resolved(document, mapping(content.get("application/json")).get("schema"))
    body = filled(schema, document)
    if body is None:
        return None
    request = Request(path=path, body=body)
    count = None if request.counts else best(query, shapes.COUNT)
    return request if count is None else replace(request, query={count: "{k}"})


def _searches(request: Request) -> bool:
    asks = any(plain_name(name) in shapes.SURELY_A_QUESTION for name in request.body or ())
    return asks or unlikely(request.path) < len(shapes.ENDPOINTS)


def _writes(request: Request, operation: dict[str, Any]) -> bool:
    name = operation.get("operationId")
    return not shapes.WRITES.isdisjoint(words_in(request.path) + words_in(name if isinstance(name, str) else ""))


def filled(schema: Any, document: Any, *, alone: bool = False) -> dict[str, Any] | None:
    """Return a mapping with placeholders that asks a question; None where the schema has no place for one.

    With `alone`, the only text that is required is the question, whatever its name.
    """
    properties = dict(islice(mapping(mapping(schema).get("properties")).items(), MAX_PROPERTIES))
    texts = [name for name in properties if is_name(name) and _is_text(resolved(document, properties[name]))]
    required = [name for name in listed(mapping(schema).get("required"))[:MAX_PROPERTIES] if is_name(name)]
    needed = [name for name in texts if name in required]
    asked = best(texts, shapes.QUESTION) or (needed[0] if alone and len(needed) == 1 else None)
    if asked is None:
        return None
    body: dict[str, Any] = named([name for name in properties if is_name(name)], asked)
    for name in required:
        if name not in body:
            value = _example(mapping(resolved(document, properties.get(name))))
            if value is None:
                return None
            body[name] = value
    return body


def named(names: Sequence[str], asked: str) -> dict[str, str]:
    """Return the placeholders of a question, and of how many chunks are wanted where one of the names says that."""
    count = best([name for name in names if name != asked], shapes.COUNT)
    return {asked: "{question}", **({count: "{k}"} if count is not None else {})}


def _example(schema: dict[str, Any]) -> Any:
    """Return a value that a required property can have; None when the document names none."""
    values = (schema.get("default"), schema.get("const"), *listed(schema.get("enum"))[:1])
    return next((value for value in values if type(value) in (bool, int) or is_name(value)), None)


def resolved(document: Any, schema: Any) -> Any:
    """Follow references within the document."""
    for _ in range(MAX_STEPS):
        reference = mapping(schema).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        schema = document
        for step in reference[2:].split("/", MAX_STEPS):
            schema = mapping(schema).get(step.replace("~1", "/").replace("~0", "~"))
    return None


def _is_text(schema: Any) -> bool:
    kinds = mapping(schema)
    either = listed(kinds.get("anyOf")) or listed(kinds.get("oneOf"))
    return kinds.get("type", "string" if not kinds.get("anyOf") else None) == "string" or any(
        mapping(kind).get("type") == "string" for kind in either[:MAX_STEPS]
    )


def is_name(value: object) -> bool:
    """Return whether a value can be the name of a parameter."""
    return isinstance(value, str) and bool(_NAME.fullmatch(value))


def mapping(value: Any) -> dict[str, Any]:
    """Return a value that is a mapping; an empty one in place of any other."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a value that is a list; an empty one in place of any other."""
    return value if isinstance(value, list) else []


class Reply(Struct, frozen=True, kw_only=True):
    """An answer to a request that is `asked` in words; `status` is 0, and `problem` says why, if there is none."""

    asked: str
    status: int
    data: bytes = b""
    problem: str = ""

    def json(self) -> Any:
        """Return the parsed body; None for one that is no JSON."""
        try:
            return jsonio.loads(self.data)
        except ValueError:
            return None

    def readings(self) -> Iterator[tuple[StreamBy, Any]]:
        """Yield every way to read the body, each with how it is a stream; nothing unless the status is 200."""
        if self.status != 200:
            return
        root = self.json()
        if root is not None:
            yield None, root
            return
        for stream in STREAMS:
            try:
                by_kind = body_of(self.data, stream)
            except ValueError:
                continue
            if by_kind and (stream is True or by_kind.keys() != {UNNAMED}):
                yield stream, by_kind

    def in_words(self, secrets: Collection[str]) -> str:
        """Describe the response. It never contains the value of a secret."""
        if not self.status:
            return f"no answer that raggate can read: {self.problem}" if self.problem else "no answer"
        text = cut(self.data[:2_000].decode("utf-8", "replace"), limit=_EXCERPT)
        form = "" if self.json() is not None or self.status != 200 else ", not JSON:" if text else ", an empty body"
        return f"HTTP {self.status}{form} {redact.redact_cut(text, secrets)}".rstrip()


def summary(replies: Sequence[Reply], secrets: Collection[str]) -> list[str]:
    """List the answer to each request, equal answers in one line."""
    alike: dict[str, list[str]] = {}
    for reply in replies:
        alike.setdefault(reply.in_words(secrets), []).append(reply.asked)
    lines = []
    for words, (first, *others) in alike.items():
        more = f" and {counted(len(others), 'other request')}" if others else ""
        lines.append(f"{first}{more}: {words}")
    return lines


def hint(replies: Sequence[Reply]) -> str:
    """Return the hint for unusable answers."""
    statuses = {reply.status for reply in replies}
    if statuses & {401, 403} and 200 not in statuses:
        return "The API wants a key: `--header 'Authorization: Bearer {env.API_KEY}'` sends one from your environment."
    if any(300 <= status < 400 for status in statuses) and 200 not in statuses:
        return REDIRECTED
    errors = [error for reply in replies for error in listed(mapping(reply.json()).get("errors"))]
    if any("message" in mapping(error) for error in errors):
        return "This looks like GraphQL: give your query with `--body`, as docs/adapters.md shows under “GraphQL”."
    if statuses <= {404, 405}:
        return "Is that the path of its search? Give `--probe` the whole address: http://localhost:8000/api/search."
    if statuses <= {400, 404, 405, 422}:
        return """`--body '{"utterance": "{question}", "size": "{k}"}'` asks with the API's own names."""
    return (
        "`--question` asks something that the index can answer, `--map list=data.hits` says where the passages are. "
        "docs/adapters.md shows how to write it by hand."
    )
