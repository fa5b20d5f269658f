"""A session with an MCP server: agreed on once, begun anew when it has expired. Replies are bounded."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from msgspec import Struct

from raggate.base import jsonio
from raggate.base.certificates import checked_by
from raggate.base.http_client import httpx
from raggate.base.quote import cut, quoted
from raggate.models.service import Started
from raggate.service import ask, misses
from raggate.service.answer_limits import MAX_BODY_BYTES
from raggate.service.mcp import protocol
from raggate.service.mcp.protocol import SESSION, STATELESS, Message, RpcError, Terms, agreed, discovered, proposal
from raggate.service.misses import CONNECT_SECONDS, Missed, miss
from raggate.service.transport import WITHIN, Events

MAX_ASKED_BACK = 100
"""Requests of the server's own during one of raggate's."""

_STREAM = "text/event-stream"
TIMEOUTS: dict[str, Any] = {"timeout": {"connect": CONNECT_SECONDS, "read": None, "write": None, "pool": None}}
"""Of each request; whoever asks bounds the time of the whole question."""
MAX_ERROR_BYTES = 64 << 10
"""Of an error body; what is longer costs the connection."""
MAX_PAGES = 100
"""Of a list of tools."""
_BAD_REQUEST = 400
_GOODBYE_SECONDS = 0.5


class Expired(Missed):
    """The server does not know the session any more."""


class Answer(Struct, frozen=True):
    """The result of a request, the session that the server named with it, if any, and the bytes it came in."""

    result: Message
    session: str
    size: int


class Exchange:
    """Carries messages to one server, for any number of tasks at once."""

    def __init__(self, transport: httpx.AsyncBaseTransport, url: str, headers: Mapping[str, str]) -> None:
        self._transport = transport
        self._url = httpx.URL(url)
        accepted = {"Accept": "application/json, text/event-stream"}
        self._headers = {**misses.HEADERS, **accepted, **headers}
        self._numbers = itertools.count(1)

    async def ask(self, terms: Terms, method: str, params: Message) -> Answer:
        """Send a request and return its result.

        Raises Expired, RpcError or another Missed, or httpx.TransportError when the server cannot be reached.
        """
        number = next(self._numbers)
        message = protocol.request(number, method, terms.params(params))
        reply = await self._send(terms, message)
        try:
            if reply.status_code != 200:
                raise await _refusal(reply, terms)
            result, size = await self._result(reply, terms, number)
        finally:
            await reply.aclose()
        try:
            return Answer(protocol.result_of(result), reply.headers.get(SESSION, ""), size)
        except ValueError as error:
            raise _broken(f"{method}: {error}") from None

    async def tell(self, terms: Terms, message: Message) -> None:
        reply = await self._send(terms, message)
        try:
            if not reply.is_success:
                raise await _refusal(reply, terms)
        finally:
            await reply.aclose()

    async def end(self, terms: Terms, seconds: float) -> None:
        """Announce the end of a session to the server, and ignore the result.

        Where no event loop keeps the time, `seconds` are waited for a reply.
        """
        headers = {**self._headers, **terms.headers({})}
        extensions = {**TIMEOUTS, WITHIN: seconds}
        request = httpx.Request("DELETE", self._url, headers=headers, extensions=extensions)
        await (await self._transport.handle_async_request(request)).aclose()

    async def _send(self, terms: Terms, message: Message) -> httpx.Response:
        headers, content = {**self._headers, **terms.headers(message)}, jsonio.dumps(message)
        request = httpx.Request("POST", self._url, headers=headers, content=content, extensions=TIMEOUTS)
        return await self._transport.handle_async_request(request)

    async def _result(self, reply: httpx.Response, terms: Terms, number: int) -> tuple[Message, int]:
        """Return the reply to a request out of the body that came for it, and its bytes."""
        if (compressed := misses.encoded(reply.headers.get("content-encoding"))) is not None:
            raise Missed(compressed)
        asked_back = itertools.count(1)
        async with aclosing(_parts(reply)) as parts:
            async for raw in parts:
                try:
                    message = protocol.parsed(raw)
                except ValueError as error:
                    raise _broken(f"expected a JSON-RPC message, found {error}") from None
                if not protocol.asks(message):
                    if not protocol.answers(message, number):
                        named = cut(jsonio.dumps(message.get("id")).decode(), limit=60)
                        raise _broken(f"the server answers request {named}, but raggate sent {number}")
                    # how long a stream goes on after it would count as the tool's time, so its connection is given up
                    return message, len(raw)
                if (answer := protocol.reply_to(message)) is None:
                    continue
                if next(asked_back) > MAX_ASKED_BACK:
                    raise _broken(f"the server sent more than {MAX_ASKED_BACK} requests of its own")
                # a server that does not take its answer harms itself alone
                with suppress(Missed):
                    await self.tell(terms, answer)
        raise Missed(miss("connection", "the server ended its answer without a result", status=200, again=True))


async def _refusal(reply: httpx.Response, terms: Terms) -> Missed:
    """Return the meaning of a status other than 200."""
    try:
        body, _ = await _read(reply, MAX_ERROR_BYTES)
    except httpx.TransportError:
        body = b""  # the status says enough
    why = misses.refused(reply.status_code, reply.headers.get("location"), body)
    if reply.status_code == 404 and terms.session:
        return Expired(why)
    if why.again:
        return Missed(why)
    with suppress(ValueError):
        answer = protocol.parsed(body)
        if "error" in answer:
            return RpcError(answer["error"], reply.status_code)
    return Missed(why)


async def _parts(reply: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Return what is a message, each."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body, whole = await _read(reply, MAX_BODY_BYTES)
        if not whole:
            raise Missed(miss("body", f"the body has more than {MAX_BODY_BYTES} bytes", status=200))
        yield body
        return
    if kind != _STREAM:
        raise _broken(f"expected application/json or text/event-stream, found {quoted(kind, limit=60)}")
    events, size = Events(), 0
    async for piece in reply.aiter_raw():
        size += len(piece)
        if size > MAX_BODY_BYTES:
            raise Missed(miss("body", f"the event stream has more than {MAX_BODY_BYTES} bytes", status=200))
        for _, data in events.feed(piece):
            # without data it is there to be taken up again, which raggate does not
            if data:
                yield data


def _broken(message: str) -> Missed:
    return Missed(miss("schema", message, status=200))


def transport_to(api: Started, connections: int) -> httpx.AsyncHTTPTransport:
    """Return what carries requests to a server, by so many connections at most."""
    # none is used twice: what a server writes behind an answer cannot become the next one
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=0)
    # not a client but its transport: no redirects, cookies, proxies or other state between questions
    return httpx.AsyncHTTPTransport(limits=limits, verify=checked_by(api.base_url), trust_env=False)


async def _read(reply: httpx.Response, limit: int) -> tuple[bytes, bool]:
    """Read a body up to `limit` bytes; also say whether that was all of it."""
    pieces = bytearray()
    async for piece in reply.aiter_raw():
        pieces += piece
        if len(pieces) > limit:
            return bytes(pieces[:limit]), False
    return bytes(pieces), True


class Session:
    """Speaks to one server, for any number of tasks at once. Every method raises as `Exchange.ask` does."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._lock = asyncio.Lock()
        self._terms = Terms()

    async def open(self) -> Terms:
        async with self._lock:
            if not self._terms.version:
                self._terms = await self._greet()
            return self._terms

    async def call(self, tool: str, arguments: Message, traceparent: str = "") -> Message:
        """Call a tool, as a part of a trace where there is one, and give the result."""
        # MCP keeps this key of `_meta` for W3C Trace Context
        meta = {"_meta": {ask.HEADER: traceparent}} if traceparent else {}
        return (await self._ask("tools/call", {"name": tool, "arguments": arguments, **meta})).result

    async def tools(self) -> list[Message]:
        """Return the tools of the server: however many pages they have, together they are no larger than one answer."""
        tools: list[Message] = []
        cursor: Message = {}
        size = 0
        for _ in range(MAX_PAGES):
            answer = await self._ask("tools/list", cursor)
            size += answer.size
            if size > MAX_BODY_BYTES:
                raise Missed(miss("body", f"tools/list: the pages have more than {MAX_BODY_BYTES} bytes"))
            page = answer.result
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise Missed(miss("schema", "tools/list: expected the list tools in the result"))
            tools += (tool for tool in listed if isinstance(tool, dict))
            following = page.get("nextCursor")
            if not isinstance(following, str) or not following:
                return tools
            cursor = {"cursor": following}
        raise Missed(miss("schema", f"tools/list: more than {MAX_PAGES} pages"))

    async def close(self) -> None:
        """Announce the end of the session to the server, if there is one."""
        if self._terms.session:
            with suppress(httpx.TransportError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._exchange.end(self._terms, _GOODBYE_SECONDS)

    async def _ask(self, method: str, params: Message) -> Answer:
        terms = await self.open()
        try:
            return await self._exchange.ask(terms, method, params)
        except Expired:
            # once for all who were told that the old session has expired
            async with self._lock:
                if self._terms is terms:
                    self._terms = await self._greet()
            return await self._exchange.ask(self._terms, method, params)

    async def _greet(self) -> Terms:
        try:
            answer = await self._exchange.ask(Terms(), "initialize", proposal())
            terms = agreed(answer.result, answer.session)
        except Missed as refused:
            # a gateway refuses what lacks the headers of the newest version, and need not say so in JSON
            if isinstance(refused, RpcError) or refused.miss.failure.status == _BAD_REQUEST:
                return await self._discover(refused)
            raise
        await self._exchange.tell(terms, protocol.notification("notifications/initialized"))
        return terms

    async def _discover(self, refused: Missed) -> Terms:
        """Agree with a server that knows no handshake, which is how every newer one answers it."""
        try:
            answer = await self._exchange.ask(Terms(STATELESS), "server/discover", {})
        except Missed:
            raise Missed(miss("status", f"initialize: {refused}", status=refused.miss.failure.status)) from None
        return discovered(answer.result)
