"""What the notes API says of its health and its index, each asked by one bounded HTTP call."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from raggate.service.adapters.json_fields import refuse
from raggate.text import jsonio
from raggate.text.http_client import httpx
from raggate.text.numbers import setting
from raggate.text.quote import cut

UNHEALTHY = frozenset(
    {
        "degraded",
        "down",
        "error",
        "fail",
        "failed",
        "initializing",
        "loading",
        "maintenance",
        "not_ready",
        "out_of_service",
        "starting",
        "stopping",
        "unavailable",
        "unhealthy",
    }
)
"""The values of `status`, whatever their case, that mean no; blanks and dashes count as underscores."""

MAX_STATE_BYTES = 1 << 20
"""Bytes of an answer that tells health or index."""

_NOT_OFFERED = frozenset((404, 405, 501))
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "raggate"}


def health_problem(client: httpx.Client, path: str) -> str:
    """Return why the API is not healthy, or nothing when it is."""
    return problem_of(path, *fetch_state(client, "GET", path))


def problem_of(path: str, status: int, body: bytes) -> str:
    """Return why an API is not healthy that answers its health path so; nothing when it is."""
    if status != 200:
        return f"GET {path}: {status_text(status, body)}"
    health = _mapping(body).get("status")
    return f"GET {path}: its status is {cut(jsonio.dumps(health).decode(), limit=60)}" if _is_unhealthy(health) else ""


def indexing(client: httpx.Client, path: str) -> tuple[bool, str]:
    """Return whether the API is indexing. One that cannot tell does not count as done, one that has no such path does.

    Raises:
        httpx.HTTPError: when there is no answer, none in time, or a larger one.
        ValueError: when it is told by another word than true or false: that may mean yes.
    """
    status, body = fetch_state(client, "GET", path)
    if status != 200:
        return status not in _NOT_OFFERED, f"GET {path}: {status_text(status, body)}"
    is_indexing = _mapping(body).get("is_indexing")
    if is_indexing is None:
        return False, f"GET {path}: the API does not report is_indexing"
    if type(is_indexing) is not bool:
        refuse("is_indexing", "true or false", is_indexing)
    return is_indexing, ""


def _is_unhealthy(status: object) -> bool:
    # everything else is the API's own way to say yes: `ok`, `UP`, `pass`, a number, nothing at all
    if isinstance(status, str):
        return status.strip().lower().replace(" ", "_").replace("-", "_") in UNHEALTHY
    return status is False


def _mapping(body: bytes) -> dict[str, Any]:
    try:
        value = jsonio.loads(body)
    except ValueError:
        import json  # seldom needed

        # whoever writes NaN beside it still says that it is indexing, or not healthy
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return {}
    return value if type(value) is dict else {}


def status_text(status: int, body: bytes) -> str:
    """Write a status with the beginning of its body."""
    excerpt = cut(body[:2_000].decode("utf-8", "replace"), limit=200)
    return f"HTTP {status} {excerpt}".rstrip()


def fetch_state(
    client: httpx.Client,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> tuple[int, bytes]:
    """Return status and body of what tells health or index: whole, as half of one does not tell what it says.

    Raises:
        httpx.HTTPError: when there is no answer, none in time, or a larger one.
    """
    status, body = fetch(client, method, path, headers=headers, content=content, limit=MAX_STATE_BYTES + 1)
    if len(body) > MAX_STATE_BYTES:
        raise httpx.ReadError(f"the body has more than {MAX_STATE_BYTES} bytes")
    return status, body


def fetch(
    client: httpx.Client,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    limit: int = 64 << 10,
    seconds: float = 10.0,
) -> tuple[int, bytes]:
    """Return status and body, the body cut at `limit` bytes.

    Raises:
        httpx.HTTPError: when there is no answer, or none within `seconds`.
    """
    headers = {**_HEADERS, **(headers or {})}
    deadline = time.monotonic() + seconds
    pieces = bytearray()
    with client.stream(method, path, content=content, headers=headers, follow_redirects=False) as response:
        # never unpacked: a compressed body, which was not asked for, could grow a thousandfold
        for piece in response.iter_raw() if "content-encoding" in response.headers else response.iter_bytes():
            pieces += piece
            if len(pieces) > limit:
                break
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout(f"{path}: the answer was not complete within {setting(seconds)} s")
        return response.status_code, bytes(pieces[:limit])
