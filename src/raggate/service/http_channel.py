"""The way to an API that is asked by one HTTP call for each question, and what such an API's adapter does."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol
from urllib.parse import urlencode

from raggate.config.ask_settings import Ask
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.models.service import Call, Started
from raggate.service import http_replies, trace_context
from raggate.service.answer_limits import bounded
from raggate.service.ask import Attempt
from raggate.service.http_connection import Connection, Reply, Request
from raggate.service.misses import Miss, miss
from raggate.text import jsonio
from raggate.text.certificates import authorities
from raggate.text.http_client import httpx
from raggate.text.quote import cut

_NEXT_ADDRESS_SECONDS = 0.25  # before a second address of a name is tried beside the first, as RFC 8305 has it


class Connections:
    """Carries requests to one API, each on a connection of its own: as many as are under way at once.

    There is no other state between two requests: no redirects, cookies, proxies or credentials.

    Args:
        base_url: scheme, host and port.
        settings: the timeouts and bounds of a question.
    """

    def __init__(self, base_url: str, settings: Ask) -> None:
        url = httpx.URL(base_url)
        self._host = url.raw_host.decode()
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._checked_by = _authorities() if url.scheme == "https" else None
        self._settings = settings
        self._idle: list[Connection] = []

    async def exchange(self, request: Request) -> Reply:
        """Send a request and read its reply.

        Raises:
            httpx.TransportError: when there is none, as `Connection.exchange`, or no connection.
        """
        connection = self._kept() or await self._opened()
        reply = await connection.exchange(request)
        if connection.open:
            self._idle.append(connection)
        return reply

    async def close(self) -> None:
        """Close what is kept."""
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
        limit = asyncio.timeout(self._settings.connect_timeout)
        try:
            async with limit:
                _, connection = await loop.create_connection(
                    lambda: Connection(self._settings, loop),
                    self._host,
                    self._port,
                    ssl=self._checked_by,
                    happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
                )
        except OSError as error:
            raise httpx.ConnectTimeout("") if limit.expired() else httpx.ConnectError(_why(error)) from error
        return connection


def _authorities() -> ssl.SSLContext:
    context = authorities()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _why(error: OSError) -> str:
    # each address of a name may have failed in another way
    return str(error) if isinstance(error, socket.gaierror | ssl.SSLError) else "All connection attempts failed"


_MAX_TARGETS = 10_000

Dialogue = Generator[Call, bytes, Response]
"""The calls of one question: gives one after the other, takes the 200 body of each, and returns the response.

It raises a ValueError when a body does not follow the protocol, with what was expected and found. Untrusted text.
"""


class HttpProtocol(Protocol):
    """Turns a case into HTTP calls and their bodies into a response. It does no I/O."""

    def call(self, case: Case, mode: str) -> Call:
        """Give the HTTP call that asks one case in one mode."""

    def dialogue(self, case: Case, mode: str) -> Dialogue:
        """Ask one case in one mode: most APIs answer by one call."""


@asynccontextmanager
async def opened(adapter: HttpProtocol, api: Started, settings: Ask, _workers: int) -> AsyncIterator[HttpChannel]:
    """Open a way within the timeouts and bounds of `settings`, for as many questions at once as there are."""
    connections = Connections(api.base_url, settings)
    try:
        yield HttpChannel(connections, adapter, api.base_url, settings)
    finally:
        await connections.close()


class HttpChannel:
    """A channel of HTTP calls. It has nothing to open."""

    def __init__(self, connections: Connections, adapter: HttpProtocol, base_url: str, settings: Ask) -> None:
        self._connections = connections
        self._adapter = adapter
        self._base_url = base_url
        self._host = httpx.URL(base_url).netloc
        self._settings = settings
        self._targets: dict[tuple[str, ...], bytes] = {}

    async def opened(self) -> Miss | None:
        """Say nothing, as every call stands for itself."""
        return None

    def question(self, case: Case, mode: str) -> Attempt:
        """Give what asks one case in one mode."""
        return partial(self._attempt, case, mode)

    async def _attempt(self, case: Case, mode: str, traceparent: str | None) -> Response | Miss:
        dialogue = self._adapter.dialogue(case, mode)
        try:
            call = next(dialogue)
            while True:
                body = await self._body(self._request(call, traceparent))
                if isinstance(body, Miss):
                    return body
                call = dialogue.send(body)
        except StopIteration as answered:
            return _bounded(answered.value)
        except ValueError as error:
            return _unread(error)

    def _request(self, call: Call, traceparent: str | None) -> Request:
        content = b"" if call.json is None else jsonio.dumps(call.json)
        traced = {trace_context.HEADER: traceparent} if traceparent else {}
        named = {**http_replies.HEADERS, **call.headers, **traced}
        headers = [
            (b"Host", self._host),
            *((name.encode("ascii"), value.encode("ascii")) for name, value in named.items()),
        ]
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

    async def _body(self, request: Request) -> bytes | Miss:
        """Give a 200 body, or why there is none."""
        settings = self._settings
        try:
            reply = await self._connections.exchange(request)
        except httpx.TransportError as error:
            return http_replies.missed(error, settings)
        if reply.status != 200:
            return http_replies.refused(reply.status, reply.header(b"location"), reply.body)
        encoding = reply.header(b"content-encoding")
        return http_replies.unreadable(encoding, whole=reply.whole, more=reply.more, settings=settings) or reply.body


def _bounded(response: Response) -> Response | Miss:
    try:
        return bounded(response)
    except ValueError as error:
        return _unread(error)


def _unread(error: ValueError) -> Miss:
    return miss("schema", cut(error), status=200)
