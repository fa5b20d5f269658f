"""One connection to an API that is not trusted: a request goes out, and what comes back is read within its bounds.

HTTP is spoken by h11, as httpx has it spoken; what httpx does around it takes four fifths of its time.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Sequence
from typing import cast

import h11
from msgspec import Struct

from raggate.config.ask_settings import Ask
from raggate.text.guarded import Guarded
from raggate.text.http_client import httpx

Headers = Sequence[tuple[bytes, bytes]]
"""Names and values, in the order in which they are sent or came."""

MAX_HEAD_BYTES = 100 << 10
"""A head that is longer and still incomplete is given up; what came whole in one piece may be longer."""

MAX_EXCERPT_BYTES = 64 << 10
"""Of an error body; what is longer costs the connection."""

_BYTES_AT_ONCE = 8 << 10  # in chunks of a byte each, more would hold up the timeouts of all others
_IDLE_SECONDS = 5.0  # servers close what is unused for longer, and a question must not meet that


class Request(Guarded, Struct, frozen=True):
    """What is sent: `target` is path and query, percent-encoded; `headers` count the bytes of the content, if any."""

    method: str
    target: bytes
    headers: Headers
    content: bytes


class Reply(Guarded, Struct, frozen=True):
    """What came back, which is not trusted.

    Attributes:
        status: of HTTP.
        headers: names in lower case.
        body: as it was sent, never unpacked: up to `max_body_bytes` under status 200, and the beginning under others.
        whole: whether that is all of it.
        more: bytes that came with its end and lie behind it, which nobody asked for.
    """

    status: int
    headers: Headers
    body: bytes
    whole: bool = True
    more: int = 0

    def header(self, name: bytes) -> str | None:
        """Give the value of a header by its name in lower case, all values where it came several times."""
        if not any(key == name for key, _ in self.headers):
            return None
        value: str = httpx.Headers(list(self.headers))[name.decode()]
        return value


class Connection(asyncio.Protocol):
    """A connection for one exchange at a time, which the event loop opens (`loop.create_connection`)."""

    def __init__(self, settings: Ask, loop: asyncio.AbstractEventLoop) -> None:
        self._settings = settings
        self._loop = loop
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._reply: asyncio.Future[Reply] | None = None
        self._head: h11.Response | None = None
        self._body = bytearray()
        self._limit = 0
        self.open = True

    async def exchange(self, request: Request) -> Reply:
        """Send a request and read its reply. The connection is closed unless another request can follow.

        Raises:
            httpx.TransportError: when there is no reply, when no byte of it comes for `read_timeout` seconds, or when
                its body breaks off under status 200.
        """
        self._head, self._body = None, bytearray()
        reply: asyncio.Future[Reply] = self._loop.create_future()
        self._reply = reply
        self._heard = self._loop.time()
        self._watch = self._loop.call_later(self._settings.read_timeout, self._give_up_if_silent)
        try:
            self._send(request)
            return await reply
        except BaseException:
            # also where a reply is there that nobody waits for any more
            self.close()
            raise
        finally:
            self._watch.cancel()

    def usable(self) -> bool:
        """Say whether another request can follow now: the server has neither closed it nor said more."""
        in_time = self._loop.time() - self._heard < _IDLE_SECONDS
        # looked at directly, as the loop may not have come to what is there
        return self.open and in_time and not self._readable.poll(0)

    def close(self) -> None:
        """Drop the connection, with whatever is on its way."""
        self.open = False
        self._transport.abort()

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection over."""
        self._transport = cast("asyncio.Transport", transport)
        # the loop's own name for what it passes to recv(), 256 KiB if nothing else is said
        self._transport.max_size = _BYTES_AT_ONCE  # type: ignore[attr-defined]
        self._readable = select.poll()
        self._readable.register(transport.get_extra_info("socket"), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Read what came for a request; what came for none is nobody's, and nothing is sent behind it."""
        if self._reply is None or self._reply.done():
            self.close()
            return
        self._heard = self._loop.time()
        self._read(data)

    def eof_received(self) -> None:
        """Read that nothing more comes, which can be the end of a body. The loop then closes the connection."""
        self.open = False
        self._read(b"")

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits that the connection is gone."""
        self.open = False
        if error is None:
            self._read(b"")
        elif isinstance(error, MemoryError):
            # raggate's own failure: as a failed call it would count against the API
            self._fail(error)
        else:
            self._fail(httpx.ReadError(getattr(error, "strerror", None) or str(error)))

    # --- one exchange

    def _send(self, request: Request) -> None:
        http = self._http
        try:
            head = h11.Request(method=request.method, target=request.target, headers=list(request.headers))
            pieces = http.send(head), http.send(h11.Data(data=request.content)), http.send(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        self._transport.write(b"".join(piece for piece in pieces if piece))

    def _read(self, data: bytes) -> None:
        if self._reply is None or self._reply.done():
            return
        if not data and self._http.their_state is h11.SEND_RESPONSE:
            self._fail(httpx.RemoteProtocolError("Server disconnected without sending a response."))
            return
        try:
            self._http.receive_data(data)
            self._take_events()
        except h11.RemoteProtocolError as error:
            self._fail(httpx.RemoteProtocolError(str(error)))

    def _take_events(self) -> None:
        while (event := self._http.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > self._limit:
                    self._answer(whole=False)
                    return
            elif isinstance(event, h11.Response):
                self._head = event
                self._limit = self._settings.max_body_bytes if event.status_code == 200 else MAX_EXCERPT_BYTES
            elif not isinstance(event, h11.InformationalResponse):
                self._answer(whole=True)
                return

    def _answer(self, *, whole: bool) -> None:
        more = len(self._http.trailing_data[0]) if whole else 0
        if whole and not more and self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            # left open, it would give what is behind the answer as the answer to the next question
            self.close()
        self._give(bytes(self._body[: self._limit]), whole=whole, more=more)

    def _give(self, body: bytes, *, whole: bool, more: int = 0) -> None:
        assert self._reply is not None  # noqa: S101 - nothing is read where nobody waits
        assert self._head is not None  # noqa: S101 - nothing of a body comes before it
        self._reply.set_result(Reply(self._head.status_code, list(self._head.headers), body, whole, more))

    def _fail(self, error: httpx.TransportError | MemoryError) -> None:
        self.close()
        if self._reply is None or self._reply.done():
            return
        told = self._head is not None and self._head.status_code != 200
        if told and not isinstance(error, MemoryError):
            # the status says enough
            self._give(b"", whole=False)
        else:
            self._reply.set_exception(error)

    def _give_up_if_silent(self) -> None:
        left = self._heard + self._settings.read_timeout - self._loop.time()
        if left > 0:
            self._watch = self._loop.call_later(left, self._give_up_if_silent)
        else:
            self._fail(httpx.ReadTimeout("no byte in time"))
