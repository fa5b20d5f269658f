"""The types of a GraphQL API, as it tells them -> its queries that look like a search, likeliest first. Pure.

The schema is hostile input: it is bounded by its reader, and only names that GraphQL allows go into a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.service.discovery.json_schemas import listed, mapping
from raggate.service.discovery.names import COUNT, QUESTION, WRITES, best, unlikely, words_in
from raggate.service.discovery.openapi import Request
from raggate.text.field_paths import parse

_TYPE = "kind name ofType { kind name ofType { kind name ofType { kind name } } }"
INTROSPECTION = (
    "{ __schema { queryType { name } types { kind name "
    f"fields {{ name args {{ name defaultValue type {{ {_TYPE} }} }} type {{ {_TYPE} }} }} "
    f"inputFields {{ name defaultValue type {{ {_TYPE} }} }} }} }} }}"
)
"""Asks an API for its types."""

MAX_QUERIES = 50
MAX_FIELDS = 100
MAX_QUERY = 4_000
_MAX_WRAPPERS = 2
_MAX_DEPTH = 4
_NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]{0,99}")
_VARIABLE = re.compile(r"\$([_A-Za-z][_0-9A-Za-z]*)\s*:\s*\[?\s*([_A-Za-z][_0-9A-Za-z]*)")
_TEXTS = ("String", "ID")
_COUNT = "$k"
"""Stands for how many are wanted; no name of GraphQL has this sign."""

Selection = Mapping[str, "Selection"]
"""Fields that are asked for, each with those in it; none of a leaf."""


class _Named(Struct, frozen=True):
    """A type without the lists and the marks around it."""

    name: str
    required: bool


class GraphqlRequest(Request, frozen=True, kw_only=True):
    """A query. `steps` lead to its list, the last one with the arguments, where `$q` of type `kind` is the question.

    How many are wanted is no variable: there are servers whose fields do not take one for it.
    """

    steps: tuple[str, ...] = ()
    arguments: str = ""
    kind: str = ""

    @property
    def counts(self) -> bool:
        """A query takes what its schema names, and no other count."""
        return True

    @property
    def in_words(self) -> str:
        """Name it in words."""
        return f"POST {self.path} ({'.'.join(self.steps) or 'the query'})"

    @property
    def health(self) -> tuple[str, ...]:
        """The smallest of all queries."""
        return (f"{self.path}?query=%7B__typename%7D",)

    def narrowed(self, chunks: Mapping[str, Any]) -> Request:
        """Give the query that asks for what these parts of a chunk need, and for nothing else."""
        if not self.steps:
            return self
        kept: dict[str, Any] = {}
        parts = [paths for part, paths in chunks.items() if part not in ("list", "path_prefix", "heading_separator")]
        for path in chain.from_iterable([paths] if isinstance(paths, str) else paths for paths in parts):
            place: Any = kept
            whole = path if parse(path).many else f"{chunks['list']}.{path}"
            for step in re.sub(r"\[[^\]]*\]", "", whole).split(".")[1 + len(self.steps) :]:
                place = place.setdefault(step, {})
        return _written(self, kept)


def queries(reply: Any, path: str) -> list[Request]:
    """Give the queries that take a question, likeliest first.

    Args:
        reply: what the API answered to `INTROSPECTION`.
        path: where it is asked.
    """
    schema = mapping(mapping(mapping(reply).get("data")).get("__schema"))
    types = {_name(kind): kind for kind in map(mapping, listed(schema.get("types")))}
    taking = _searches(types, _name(schema.get("queryType")), (), path)
    asked = (request for request in taking if WRITES.isdisjoint(words_in(request.steps[-1])))
    ranked = sorted(enumerate(islice(asked, MAX_QUERIES)), key=lambda item: (unlikely(item[1].steps[-1]), item[0]))
    return [request for _, request in ranked]


def own_query(text: str, path: str) -> Request | None:
    """Give the request that asks a query of somebody's own; None where no variable of it takes a question."""
    variables = dict(_VARIABLE.findall(text))
    texts = [name for name, kind in variables.items() if kind in _TEXTS]
    asked = best(texts, QUESTION) or (texts[0] if texts else None)
    if asked is None:
        return None
    numbers = [name for name, kind in variables.items() if kind == "Int"]
    count = best(numbers, COUNT) or (numbers[0] if len(numbers) == 1 else None)
    given = {asked: "{question}", **({count: "{k}"} if count is not None else {})}
    return GraphqlRequest(method="POST", path=path, body={"query": doubled(text), "variables": given})


def doubled(text: str) -> str:
    """Write a text as a template in which its braces are braces."""
    return text.replace("{", "{{").replace("}", "}}")


def _searches(types: Mapping[str, Any], name: str, steps: tuple[str, ...], path: str) -> Iterator[GraphqlRequest]:
    """Give the fields of a type that take a question, and of what it holds that wants no arguments."""
    for field_name, entry in _entries(mapping(types.get(name)).get("fields")).items():
        given, result = _entries(entry.get("args")), _named(entry.get("type"))
        taken = (*steps, field_name)
        for arguments, kind in _arguments(types, given):
            request = GraphqlRequest(method="POST", path=path, steps=taken, arguments=arguments, kind=kind)
            yield from (_written(request, selection) for selection in _selections(types, result.name))
        if not given and len(steps) < _MAX_WRAPPERS and _kind(types, result.name) == "OBJECT":
            yield from _searches(types, result.name, taken, path)


def _selections(types: Mapping[str, Any], result: str) -> list[Selection]:
    """Give all fields of a type, as deep as a query of a bearable length goes; and those of the type itself alone.

    A field that is deep inside may want something that nobody knows here, and then fails all of the query.
    """
    selections = [_selection(types, result, 1)]
    for depth in range(2, _MAX_DEPTH + 1):
        deeper = _selection(types, result, depth)
        if len(_text(deeper)) > MAX_QUERY:
            break
        if deeper != selections[0]:
            selections[1:] = [deeper]
    return [selection for selection in reversed(selections) if selection]


def _arguments(types: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the ways to put a question, as an argument or as a field of one; each with the type of the question."""
    kinds = {name: _named(argument.get("type")) for name, argument in given.items()}
    required = {name for name, kind in kinds.items() if kind.required and given[name].get("defaultValue") is None}
    count = best([name for name, kind in kinds.items() if kind.name == "Int"], COUNT)
    counted = "" if count is None else f", {count}: {_COUNT}"
    asked = best([name for name, kind in kinds.items() if kind.name in _TEXTS], QUESTION)
    if asked is not None and required <= {asked, count}:
        yield f"{asked}: $q{counted}", kinds[asked].name
    for name, kind in kinds.items():
        if _kind(types, kind.name) == "INPUT_OBJECT" and required <= {name, count}:
            for inner, text in _arguments({}, _entries(mapping(types.get(kind.name)).get("inputFields"))):
                if _COUNT not in inner:
                    yield f"{name}: {{{inner}}}{counted}", text


def _selection(types: Mapping[str, Any], name: str, depth: int) -> dict[str, Any]:
    selection: dict[str, Any] = {}
    for field_name, entry in _entries(mapping(types.get(name)).get("fields")).items():
        if any(_named(argument.get("type")).required for argument in _entries(entry.get("args")).values()):
            continue
        result = _named(entry.get("type")).name
        if _kind(types, result) in ("SCALAR", "ENUM"):
            selection[field_name] = {}
        elif depth > 1 and (inner := _selection(types, result, depth - 1)):
            selection[field_name] = inner
    return selection


def _written(request: GraphqlRequest, selection: Selection) -> GraphqlRequest:
    """Give the request with its query as text."""
    *wrappers, last = request.steps
    text = f"{last}({request.arguments}) {{ {_text(selection)} }}"
    for step in reversed(wrappers):
        text = f"{step} {{ {text} }}"
    query = doubled(f"query($q: {request.kind}!) {{ {text} }}").replace(_COUNT, "{k}")
    return replace(request, body={"query": query, "variables": {"q": "{question}"}})


def _text(selection: Selection) -> str:
    return " ".join(f"{name} {{ {_text(inner)} }}" if inner else name for name, inner in selection.items())


def _entries(value: Any) -> dict[str, dict[str, Any]]:
    """Give the entries of a list that have a name, by it."""
    return {name: entry for entry in map(mapping, listed(value)[:MAX_FIELDS]) if (name := _name(entry))}


def _kind(types: Mapping[str, Any], name: str) -> str:
    kind = mapping(types.get(name)).get("kind")
    return "OBJECT" if kind == "INTERFACE" else str(kind)


def _named(kind: Any) -> _Named:
    required = mapping(kind).get("kind") == "NON_NULL"
    for _ in range(4):
        inner = mapping(kind).get("ofType")
        if not isinstance(inner, dict):
            break
        kind = inner
    return _Named(_name(kind), required)


def _name(entry: Any) -> str:
    """Give the name of an entry; an empty text where it has none that GraphQL allows."""
    name = mapping(entry).get("name")
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""
