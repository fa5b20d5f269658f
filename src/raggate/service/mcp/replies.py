"""Replies of an MCP server as httpx brings them, in pieces: read within their bound, and left."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from raggate.config.ask_settings import Ask
from raggate.models.service import Started
from raggate.service import http_replies
from raggate.service.misses import Miss
from raggate.text.certificates import checked_by
from raggate.text.http_client import httpx

MAX_ERROR_BYTES = 64 << 10
"""Of an error body; what is longer costs the connection."""

# The library keeps what it has read beyond an answer for the next one on the connection, and has no public name for it.
# Where the name is gone, no connection is used twice.
_BEHIND = attrgetter("_httpcore_stream._stream._connection._h11_state.trailing_data")


def transport_to(api: Started, connections: int) -> httpx.AsyncHTTPTransport:
    """Return what carries requests to a server, by so many connections at most."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    # not a client but its transport: no redirects, cookies, proxies or other state between questions
    return httpx.AsyncHTTPTransport(limits=limits, verify=checked_by(api.base_url), trust_env=False)


def extensions(settings: Ask) -> dict[str, Any]:
    """Return the timeouts of a request, as the HTTP library takes them."""
    timeout = settings.read_timeout
    timeouts = {"connect": settings.connect_timeout, "read": timeout, "write": timeout, "pool": None}
    return {"timeout": timeouts}


async def read(reply: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """Read a body up to `limit` bytes; also say whether that was all of it."""
    pieces = bytearray()
    async for piece in reply.aiter_raw():
        pieces += piece
        if len(pieces) > limit:
            return bytes(pieces[:limit]), False
    return bytes(pieces), True


async def close(reply: httpx.Response) -> int:
    """Be done with a reply. Returns the number of bytes that came behind its end; its connection is closed for them."""
    more = _leftover(reply)
    if more != 0 and "network_stream" in reply.extensions:
        # kept open, the connection would give them as the answer to the next question
        await reply.extensions["network_stream"].aclose()
    await reply.aclose()
    return more or 0


async def refusal(reply: httpx.Response) -> Miss:
    """Tell a status that is none of an answer, with the beginning of its body."""
    try:
        body, _ = await read(reply, MAX_ERROR_BYTES)
    except httpx.TransportError:
        body = b""  # the status says enough
    return refused(reply, body)


def refused(reply: httpx.Response, body: bytes) -> Miss:
    """Tell a status whose body has been read."""
    return http_replies.refused(reply.status_code, reply.headers.get("location"), body)


def unreadable(reply: httpx.Response, *, whole: bool, settings: Ask) -> Miss | None:
    """Return why a body is not to be read, if it is not."""
    return http_replies.unreadable(_encoding(reply), whole=whole, more=0, settings=settings)


def encoded(reply: httpx.Response) -> Miss | None:
    """Say that a body is compressed, if it is."""
    return http_replies.encoded(_encoding(reply))


def _encoding(reply: httpx.Response) -> str | None:
    encoding: str | None = reply.headers.get("content-encoding")
    return encoding


def _leftover(reply: httpx.Response) -> int | None:
    """Count the bytes that came with a whole answer and are behind its end; None if the library does not say."""
    try:
        behind, _ = _BEHIND(reply.stream)
    except AttributeError:
        return None
    return len(behind)
