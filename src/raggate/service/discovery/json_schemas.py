"""The JSON schema of what an endpoint or a tool takes -> what it is sent for a question. Pure.

The schema is hostile input: it is bounded by its reader, and what is followed in it is followed so many steps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from raggate.service.discovery.names import COUNT, QUESTION, best

MAX_PROPERTIES = 200
MAX_STEPS = 10
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,100}")


def filled(schema: Any, document: Any, *, alone: bool = False) -> dict[str, Any] | None:
    """Return a mapping with placeholders that asks a question; None where the schema has no place for one.

    Args:
        schema: of the mapping, untrusted.
        alone: whether the only text that is required is the question, whatever its name.
    """
    properties = dict(islice(mapping(mapping(schema).get("properties")).items(), MAX_PROPERTIES))
    texts = [name for name in properties if is_name(name) and _is_text(resolved(document, properties[name]))]
    required = [name for name in listed(mapping(schema).get("required"))[:MAX_PROPERTIES] if is_name(name)]
    asked = best(texts, QUESTION) or (_only(name for name in texts if name in required) if alone else None)
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
    count = best([name for name in names if name != asked], COUNT)
    return {asked: "{question}", **({count: "{k}"} if count is not None else {})}


def _only(names: Any) -> str | None:
    first = list(islice(names, 2))
    return first[0] if len(first) == 1 else None


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
