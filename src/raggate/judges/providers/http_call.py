"""One HTTP call to a judge's server, before it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from raggate.base.jsonio import JsonObject, fields, loads
from raggate.base.redact import Guarded
from raggate.models.judging import MOST_TOKENS, NotJudged


class HttpCall(Guarded, Struct, frozen=True, kw_only=True):
    """A POST of JSON. `headers` are those of the provider, the key among them; they are never shown."""

    url: str
    json: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict)


def endpoint_url(base_url: str, path: str) -> str:
    """Return the address of an endpoint; a base without a path gets that of the version."""
    base = base_url.rstrip("/")
    return f"{base}/{path}" if "/" in base.partition("://")[2] else f"{base}/v1/{path}"


def answer_of(body: bytes) -> dict[str, Any] | NotJudged:
    """Return the object that a body holds, an empty one for any other JSON; or say that it is no JSON."""
    try:
        return fields(loads(body))
    except ValueError as error:
        return NotJudged(reason="invalid_reply", detail=f"the server's answer is not JSON: {error}")


def text_of(value: object) -> str:
    """Return a text; an empty one for what is none."""
    return value if isinstance(value, str) else ""


def tokens_of(value: object) -> int | None:
    """Return a count of tokens that a server reports; None for anything else, also 0: no prompt or reply has none."""
    return value if type(value) is int and 0 < value <= MOST_TOKENS else None
