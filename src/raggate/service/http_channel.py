"""The way to an API that is asked by one HTTP call for each question, and what such an API's adapter does."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, cast
from urllib.parse import urlencode

import h11
from msgspec import Struct

from raggate.base import jsonio
from raggate.base.certificates import authorities
from raggate.base.http_client import httpx
from raggate.base.quote import cut
from raggate.base.redact import Guarded
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import Call, IndexState, Started
from raggate.service import ask, misses
from raggate.service.answer_limits import MAX_BODY_BYTES, bounded
from raggate.service.ask import AskResult, OnResult
from raggate.service.misses import Missed, miss

Headers = Sequence[tuple[bytes, bytes]]
"""Names and values, in the order in which they are sent or came."""

MAX_HEAD_BYTES = 100 << 10
"""A head that is longer and still incomplete is given up; what came whole in one piece may be longer."""

MAX_EXCERPT_BYTES = 64 << 10
"""Of an error body; what is longer costs the connection."""

_BYTES_AT_ONCE = 8 << 10  # in chunks of a byte each, more would hold up the timeouts of all others
_IDLE_SECONDS = 5.0  # servers close what is unused for longer, and a question must not meet that
_NEXT_ADDRESS_SECONDS = 0.25  # before a second address of a name is tried beside the first, as RFC 8305 has it
_MAX_TARGETS = 10_000


class Request(Guarded, Struct, frozen=True):
    """What is sent: `target` is path and query, percent-encoded; `headers` count the bytes of the content, if any."""

    method: str
    target: bytes
    headers: Headers
    content: bytes


class Reply(Guarded, Struct, frozen=True):
    """What came back, which is not trusted.

    The names of `headers` are in lower case. `body` is never unpacked: up to `MAX_BODY_BYTES` under status 200, and
    the beginning under others; `whole` if that is all. `more` counts bytes behind its end, which nobody asked for.
    """

    status: int
    headers: Headers
    body: bytes
    whole: bool = True
    more: int = 0

    def header(self, name: bytes) -> str | None:
        """Return the value of a header by its name in lower case, all values where it came several times."""
        if not any(key == name for key, _ in self.headers):
            return None
        value: str = httpx.Headers(list(self.headers))[name.decode()]
        return value


class Connection(asyncio.Protocol):
    """A connection for one exchange at a time, which the event loop opens (`loop.create_connection`) and calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._reply: asyncio.Future[Reply] | None = None
        self._head: h11.Response | None = None
        self._body = bytearray()
        self._limit = 0
        self.open = True

    async def exchange(self, request: Request) -> Reply:
        """Send a request and read its reply. The connection is closed unless another request can follow."""
        self._head, self._body = None, bytearray()
        reply: asyncio.Future[Reply] = self._loop.create_future()
        self._reply = reply
        self._heard = self._loop.time()
        try:
            self._send(request)
            return await reply
        except BaseException:
            # also where a reply is there that nobody waits for any more
            self.close()
            raise

    def usable(self) -> bool:
        """Return whether another request can follow now: the server has neither closed it nor said more."""
        in_time = self._loop.time() - self._heard < _IDLE_SECONDS
        # looked at directly, as the loop may not have come to what is there
        return self.open and in_time and not self._readable.poll(0)

    def close(self) -> None:
        self.open = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
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
        self.open = False
        if error is None:
            self._read(b"")
        elif isinstance(error, MemoryError):
            # raggate's own failure: as a failed call it would count against the API
            self._fail(error)
        else:
            self._fail(httpx.ReadError(getattr(error, "strerror", None) or str(error)))

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
                self._limit = MAX_BODY_BYTES if event.status_code == 200 else MAX_EXCERPT_BYTES
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


class Connections:
    """Carries requests to one API, each on a connection of its own: as many as are under way at once.

    There is no other state between two requests: no redirects, cookies, proxies or credentials.
    """

    def __init__(self, base_url: str) -> None:
        url = httpx.URL(base_url)
        self._host = url.raw_host.decode()
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._checked_by = authorities() if url.scheme == "https" else None
        if self._checked_by is not None:
            self._checked_by.set_alpn_protocols(["http/1.1"])
        self._idle: list[Connection] = []

    async def exchange(self, request: Request) -> Reply:
        connection = self._kept() or await self._opened()
        reply = await connection.exchange(request)
        if connection.open:
            self._idle.append(connection)
        return reply

    async def close(self) -> None:
        for connection in self._idle:
            connection.close()
        # a socket is closed when the loop comes round
        await asyncio.sleep(0)

    def _kept(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.close()
        return None

    async def _opened(self) -> Connection:
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(misses.CONNECT_SECONDS)
        try:
            async with limit:
                _, connection = await loop.create_connection(
                    lambda: Connection(loop),
                    self._host,
                    self._port,
                    ssl=self._checked_by,
                    happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
                )
        except OSError as error:
            # each address of a name may have failed in another way
            one = isinstance(error, socket.gaierror | ssl.SSLError)
            why = str(error) if one else "All connection attempts failed"
            raise httpx.ConnectTimeout("") if limit.expired() else httpx.ConnectError(why) from error
        return connection


class HttpAdapter(Protocol):
    """Turns cases into HTTP calls and bodies into responses. It does no I/O of its own but in `index_state`."""

    def call(self, case: Case, mode: str) -> Call:
        """Return the HTTP call that asks one case in one mode."""

    def parse(self, body: bytes, case: Case) -> Response:
        """Read a 200 body; a ValueError tells what was expected and found, in untrusted text."""

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        """Ask the API how its index stands."""


@asynccontextmanager
async def _opened(
    adapter: HttpAdapter, api: Started, headers: Mapping[str, str], _workers: int
) -> AsyncIterator[_Channel]:
    channel = _Channel(adapter, api.base_url, headers)
    try:
        yield channel
    finally:
        await channel.connections.close()


class _Channel(ask.Channel):
    """A channel of HTTP calls, for as many questions at once as there are; `headers` replace those of the same name."""

    def __init__(self, adapter: HttpAdapter, base_url: str, headers: Mapping[str, str]) -> None:
        self.connections = Connections(base_url)
        self._adapter = adapter
        self._base_url = base_url
        self._host = httpx.URL(base_url).netloc
        self._extra = {name.lower(): (name, value) for name, value in headers.items()}
        self._targets: dict[tuple[str, ...], bytes] = {}

    async def attempt(self, case: Case, mode: str, traceparent: str) -> Response:
        reply = await self.connections.exchange(self._request(self._adapter.call(case, mode), traceparent))
        if reply.status != 200:
            raise Missed(misses.refused(reply.status, reply.header(b"location"), reply.body))
        encoding = reply.header(b"content-encoding")
        if unreadable := misses.unreadable(encoding, whole=reply.whole, more=reply.more):
            raise Missed(unreadable)
        try:
            return bounded(self._adapter.parse(reply.body, case))
        except ValueError as error:
            raise Missed(miss("schema", cut(error), status=200)) from None

    def _request(self, call: Call, traceparent: str) -> Request:
        content = b"" if call.json is None else jsonio.dumps(call.json)
        named = {**misses.HEADERS, **call.headers, ask.HEADER: traceparent}
        kept = {name: value for name, value in named.items() if name.lower() not in self._extra}
        named = {**kept, **dict(self._extra.values())}
        headers = [(b"Host", self._host)]
        headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in named.items()]
        if content or call.method != "GET":
            headers.append((b"Content-Length", b"%d" % len(content)))
        return Request(call.method, self._target(call), headers, content)

    def _target(self, call: Call) -> bytes:
        key = (call.path, *call.query, *call.query.values())
        if len(self._targets) >= _MAX_TARGETS:
            self._targets.clear()
        if key not in self._targets:
            query = f"?{urlencode(call.query)}" if call.query else ""
            self._targets[key] = httpx.URL(f"{self._base_url}{call.path}{query}").raw_path
        return self._targets[key]


@dataclass
class OverHttp:
    """Asks an API as `HttpAdapter` says, as often and as long as the settings allow."""

    _adapter: HttpAdapter
    _settings: Ask
    _headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def index_state(self, client: httpx.Client, ready: Readiness) -> IndexState:
        return self._adapter.index_state(client, ready)

    def ask(
        self, questions: Sequence[tuple[Case, str]], api: Started, *, on_result: OnResult, collect: bool = True
    ) -> AskResult:
        connect = partial(_opened, self._adapter, api, self._headers)
        return ask.ask(questions, connect, api, self._settings, on_result=on_result, collect=collect)

    def with_headers(self, headers: Mapping[str, str]) -> OverHttp:
        return OverHttp(self._adapter, self._settings, headers)
