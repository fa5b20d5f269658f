"""Replies of an API that is not trusted, read by an event loop: bounded bodies, refusals, and what went wrong."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import httpx

from raggate.config.ask_settings import Ask
from raggate.service.misses import Miss, lost, miss
from raggate.text.numbers import setting
from raggate.text.quote import cut

HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a compressed body could grow a thousandfold
    "Content-Type": "application/json",
    "User-Agent": "raggate",
}
"""What every question is sent with."""

# the library keeps what it has read beyond an answer for the next one on the connection, and has no name for it
_BEHIND = attrgetter("_httpcore_stream._stream._connection._h11_state.trailing_data")
_EXCERPT_BYTES = 64 << 10  # of an error body; what is longer costs the connection
_RETRIED_STATUS = frozenset((502, 503))


def extensions(settings: Ask) -> dict[str, Any]:
    """Give the timeouts of a request, as the HTTP library takes them."""
    timeout = settings.read_timeout
    timeouts = {"connect": settings.connect_timeout, "read": timeout, "write": timeout, "pool": None}
    return {"timeout": timeouts}


def missed(error: httpx.TransportError, settings: Ask) -> Miss:
    """Say what became of a request without a reply."""
    if isinstance(error, httpx.ConnectTimeout):
        return miss("timeout", f"no connection within {setting(settings.connect_timeout)} s")
    if isinstance(error, httpx.TimeoutException):
        return miss("timeout", f"no byte for {setting(settings.read_timeout)} s")
    return lost(error)


async def read(reply: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """Read a body up to `limit` bytes; also say whether that was all of it."""
    pieces = bytearray()
    async for piece in reply.aiter_raw():
        pieces += piece
        if len(pieces) > limit:
            return bytes(pieces[:limit]), False
    return bytes(pieces), True


async def close(reply: httpx.Response) -> int:
    """Be done with a reply. Gives the number of bytes that came behind its end; its connection is closed for them."""
    more = _leftover(reply)
    if more:
        # kept open, the connection would give them as the answer to the next question
        await reply.extensions["network_stream"].aclose()
    await reply.aclose()
    return more


def unreadable(reply: httpx.Response, *, whole: bool, more: int, settings: Ask) -> Miss | None:
    """Say why a body is not to be read, if it is not."""
    if not whole:
        return miss("body", f"the body has more than {settings.max_body_bytes} bytes", status=200)
    if more:
        return miss("body", f"{more} bytes came after the answer, which nobody asked for", status=200)
    return encoded(reply)


def encoded(reply: httpx.Response) -> Miss | None:
    """Say that a body is compressed, if it is."""
    encoding = reply.headers.get("content-encoding", "identity")
    if encoding.lower() == "identity":
        return None
    return miss("body", f"the body is encoded ({cut(encoding, limit=40)}), which was not asked for", status=200)


async def refusal(reply: httpx.Response) -> Miss:
    """Tell a status that is none of an answer, with the beginning of its body."""
    try:
        body, _ = await read(reply, _EXCERPT_BYTES)
    except httpx.TransportError:
        body = b""  # the status says enough
    return refused(reply, body)


def refused(reply: httpx.Response, body: bytes) -> Miss:
    """Tell a status whose body has been read."""
    status = reply.status_code
    excerpt = cut(body[:2_000].decode("utf-8", "replace"), limit=200)
    if reply.has_redirect_location:
        excerpt = f"redirects to {cut(reply.headers['location'], limit=100)}, which is not followed"
    message = f"HTTP {status}: {excerpt}" if excerpt else f"HTTP {status}"
    return miss("status", message, status=status, again=status in _RETRIED_STATUS)


def _leftover(reply: httpx.Response) -> int:
    """Count the bytes that came with a whole answer and are behind its end; 0 where the library does not tell."""
    try:
        behind, _ = _BEHIND(reply.stream)
    except AttributeError:
        return 0
    return len(behind)
