"""HTTP to an API that is not trusted: requests within a deadline, answers within a size, event streams as events."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import cast

from msgspec import Struct

from raggate.base.http_client import httpx
from raggate.base.quote import cut

WITHIN = "raggate.within"
"""The extension of a request that is given up sooner than others: after so many seconds."""

_EXCERPT_BYTES = 2000
_TEMPORARY = frozenset((408, 425, 429))

UNNAMED = "message"
"""What an event without a name is called, as the standard has it."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = b"\xef\xbb\xbf"


class Exchange(Struct):
    """One request and how far its answer came. `request` is method and path, harmless text, empty before it is sent."""

    request: str = ""
    status: int | None = None
    excerpt: bytes = b""

    @property
    def hopeless(self) -> bool:
        """Whether the status is one that waiting does not change, such as 404 or a redirect."""
        return self.status is not None and 300 <= self.status < 500 and self.status not in _TEMPORARY

    def answer(self) -> str:
        if self.status is None:
            return f"{self.request or 'a request'} got no answer"
        body = cut(self.excerpt.decode("utf-8", "replace"), limit=200)
        return f"{self.request} answers {self.status}" + (f": {body}" if body else " without a body")


class Wire(httpx.BaseTransport):
    """A transport that bounds another one.

    No request and no body goes on beyond the `deadline`, on the clock `now`, whatever the client's timeouts are. One
    request with its body takes `seconds` at most, less where it says so (`WITHIN`). A header that drips is the
    exception: what is read of it is bounded by `seconds` per piece only.
    """

    def __init__(
        self, inner: httpx.BaseTransport, *, deadline: float, seconds: float, max_bytes: int, now: Callable[[], float]
    ) -> None:
        self._inner = inner
        self.max_bytes = max_bytes
        self._deadline = deadline
        self._seconds = seconds
        self.now = now
        self.exchange = Exchange()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = self.exchange
        exchange.request = cut(f"{request.method} {request.url.path}")
        exchange.status, exchange.excerpt = None, b""
        now = self.now()
        end = min(now + self._seconds, now + request.extensions.get(WITHIN, self._seconds), self._deadline)
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), max(end - now, 0.01))
        response = self._inner.handle_request(request)
        exchange.status = response.status_code
        # undone by the client, a compression would grow beyond what is counted here; raggate asks for none
        headers = [(name, value) for name, value in response.headers.raw if name.lower() != b"content-encoding"]
        body = _Body(self, response, exchange, end)
        return httpx.Response(response.status_code, headers=headers, stream=body, extensions=response.extensions)

    def close(self) -> None:
        self._inner.close()


@dataclass
class _Body(httpx.SyncByteStream):
    _wire: Wire
    _response: httpx.Response
    _exchange: Exchange
    _end: float

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in cast("httpx.SyncByteStream", self._response.stream):
            size += len(piece)
            self._exchange.excerpt += piece[: max(_EXCERPT_BYTES - len(self._exchange.excerpt), 0)]
            if size > self._wire.max_bytes:
                raise httpx.ReadError(f"the body is larger than {self._wire.max_bytes} bytes")
            if self._wire.now() >= self._end:
                raise httpx.ReadTimeout("the body was not complete in time")
            yield piece

    def close(self) -> None:
        self._response.close()


class Events:
    """Takes the pieces of one stream. It has no more than the piece of an event that is not whole yet."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._name = UNNAMED
        self._data: list[bytes] = []
        self._after_return = False
        self._first = True

    def feed(self, piece: bytes) -> Iterator[tuple[str, bytes]]:
        """Take a piece, and give name and data of each event that it ends. What has no data is passed over."""
        if self._after_return and piece.startswith(b"\n"):
            # the other half of a line end
            piece = piece[1:]
        if piece:
            self._after_return = piece.endswith(b"\r")
        *ends, rest = _LINE_END.split(piece)
        for end in ends:
            self._line += end
            line = bytes(self._line)
            self._line.clear()
            yield from self._take(line)
        self._line += rest

    def _take(self, line: bytes) -> Iterator[tuple[str, bytes]]:
        if self._first:
            self._first, line = False, line.removeprefix(_MARK)
        if not line:
            if self._data:
                yield self._name, b"\n".join(self._data)
            self._name, self._data = UNNAMED, []
            return
        key, _, value = line.partition(b":")
        if key == b"data":
            self._data.append(value.removeprefix(b" "))
        elif key == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace") or UNNAMED


@dataclass
class WaitingTransport(httpx.AsyncBaseTransport):
    """Carries requests by a client, with its own timeouts and bounds. Nothing else of the event loop runs meanwhile."""

    _client: httpx.Client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # the other timeouts of a request are those of asking
        within = {WITHIN: request.extensions[WITHIN]} if WITHIN in request.extensions else {}
        sent = self._client.build_request(
            request.method, request.url, headers=request.headers, content=request.content or None, extensions=within
        )
        reply = self._client.send(sent, stream=True, follow_redirects=False)
        return httpx.Response(reply.status_code, headers=reply.headers, stream=_Pieces(reply))


@dataclass
class _Pieces(httpx.AsyncByteStream):
    _reply: httpx.Response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._reply.iter_raw():
            yield piece

    async def aclose(self) -> None:
        self._reply.close()
