"""One message to an MCP server over HTTP, and the reply to it, bounded; what else the server asks is answered."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from operator import attrgetter
from typing import Any

from msgspec import Struct

from raggate.models.service import Started
from raggate.service import misses
from raggate.service.answer_limits import MAX_BODY_BYTES
from raggate.service.mcp import protocol
from raggate.service.mcp.protocol import SESSION, Message, RpcError, Terms
from raggate.service.misses import CONNECT_SECONDS, Miss, Missed, miss
from raggate.service.transport import WITHIN, Events
from raggate.text import jsonio
from raggate.text.certificates import checked_by
from raggate.text.http_client import httpx
from raggate.text.quote import cut, quoted

MAX_ASKED_BACK = 100
"""Requests of the server's own during one of raggate's."""

_STREAM = "text/event-stream"
TIMEOUTS: dict[str, Any] = {"timeout": {"connect": CONNECT_SECONDS, "read": None, "write": None, "pool": None}}
"""Of each request; whoever asks bounds the time of the whole question."""


MAX_ERROR_BYTES = 64 << 10
"""Of an error body; what is longer costs the connection."""
# The library keeps what it has read beyond an answer for the next one on the connection, and has no public name for it.
# Where the name is gone, no connection is used twice.
_BEHIND = attrgetter("_httpcore_stream._stream._connection._h11_state.trailing_data")


class Expired(Missed):
    """The server does not know the session any more."""


class Answer(Struct, frozen=True):
    """The result of a request, the session that the server named with it, if any, and the bytes it came in."""

    result: Message
    session: str
    size: int


class Exchange:
    """Carries messages to one server, for any number of tasks at once.

    Args:
        transport: carries the requests.
        url: where the server is.
        headers: what the configuration adds to each request.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport, url: str, headers: Mapping[str, str]) -> None:
        self._transport = transport
        self._url = httpx.URL(url)
        accepted = {"Accept": "application/json, text/event-stream"}
        self._headers = {**misses.HEADERS, **accepted, **headers}
        self._numbers = itertools.count(1)

    async def ask(self, terms: Terms, method: str, params: Message) -> Answer:
        """Send a request and return its result.

        Raises:
            Expired: when the session of these terms is not known any more.
            RpcError: when there is an error in place of the result.
            Missed: when there is neither.
            httpx.TransportError: when the server cannot be reached.
        """
        number = next(self._numbers)
        message = protocol.request(number, method, terms.params(params))
        reply = await self._send(terms, message)
        more = 0
        try:
            if reply.status_code != 200:
                raise await _refusal(reply, terms)
            result, size = await self._result(reply, terms, number)
        finally:
            more = await close(reply)
        # a stream is left at the reply, and may have more to say
        if more and _kind(reply) != _STREAM:
            raise Missed(miss("body", f"{more} bytes came after the answer, which nobody asked for", status=200))
        try:
            return Answer(protocol.result_of(result), reply.headers.get(SESSION, ""), size)
        except ValueError as error:
            raise _broken(f"{method}: {error}") from None

    async def tell(self, terms: Terms, message: Message) -> None:
        """Send what gets no result.

        Raises:
            Missed: when it is refused.
            httpx.TransportError: when the server cannot be reached.
        """
        reply = await self._send(terms, message)
        try:
            if not reply.is_success:
                raise Missed(await refusal(reply))
        finally:
            await close(reply)

    async def end(self, terms: Terms, seconds: float) -> None:
        """Tell the server that a session is over. What comes of that is nobody's concern.

        Args:
            seconds: how long to wait for a reply where no event loop keeps the time.

        Raises:
            httpx.TransportError: when the server cannot be reached.
        """
        headers = {**self._headers, **terms.headers({})}
        extensions = {**TIMEOUTS, WITHIN: seconds}
        request = httpx.Request("DELETE", self._url, headers=headers, extensions=extensions)
        await close(await self._transport.handle_async_request(request))

    async def _send(self, terms: Terms, message: Message) -> httpx.Response:
        headers, content = {**self._headers, **terms.headers(message)}, jsonio.dumps(message)
        request = httpx.Request("POST", self._url, headers=headers, content=content, extensions=TIMEOUTS)
        return await self._transport.handle_async_request(request)

    async def _result(self, reply: httpx.Response, terms: Terms, number: int) -> tuple[Message, int]:
        """Return the reply to a request out of the body that came for it, and its bytes."""
        if (compressed := encoded(reply)) is not None:
            raise Missed(compressed)
        asked_back = itertools.count(1)
        async with aclosing(_parts(reply)) as parts:
            async for raw in parts:
                try:
                    came = protocol.parsed(raw)
                except ValueError as error:
                    raise _broken(f"expected a JSON-RPC message, found {error}") from None
                if (message := _reply_among(came, number)) is not None:
                    # how long a stream goes on after it would count as the tool's time, so its connection is given up
                    return message, len(raw)
                for other in came:
                    await self._answer(terms, other, asked_back)
        raise Missed(miss("connection", "the server ended its answer without a result", status=200, again=True))

    async def _answer(self, terms: Terms, message: Message, asked_back: Iterator[int]) -> None:
        answer = protocol.reply_to(message)
        if answer is None:
            return
        if next(asked_back) > MAX_ASKED_BACK:
            raise _broken(f"the server asks more than {MAX_ASKED_BACK} things back")
        # a server that does not take its answer harms itself alone
        with suppress(Missed):
            await self.tell(terms, answer)


async def _refusal(reply: httpx.Response, terms: Terms) -> Missed:
    """Say what a status other than 200 means."""
    body, _ = await read(reply, MAX_ERROR_BYTES)
    why = refused(reply, body)
    if reply.status_code == 404 and terms.session:
        return Expired(why)
    if why.again:
        return Missed(why)
    with suppress(ValueError):
        (answer,) = protocol.parsed(body)
        if "error" in answer:
            return RpcError(answer["error"], reply.status_code)
    return Missed(why)


def _reply_among(came: Iterable[Message], number: int) -> Message | None:
    """Return the reply to a request; what answers anything else is refused."""
    reply: Message | None = None
    for message in came:
        if protocol.asks(message):
            continue
        if not protocol.answers(message, number):
            raise _broken(f"the server answers request {_id(message)}, asked was {number}")
        if reply is not None:
            raise _broken(f"the server answers request {number} twice")
        reply = message
    return reply


async def _parts(reply: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Return what is a message, or a batch of them, each."""
    kind = _kind(reply)
    if kind == "application/json":
        body, whole = await read(reply, MAX_BODY_BYTES)
        if (problem := unreadable(reply, whole=whole)) is not None:
            raise Missed(problem)
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


def _kind(reply: httpx.Response) -> str:
    kind: str = reply.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _broken(message: str) -> Missed:
    return Missed(miss("schema", message, status=200))


def _id(message: Mapping[str, Any]) -> str:
    return cut(jsonio.dumps(message.get("id")).decode(), limit=60)


def transport_to(api: Started, connections: int) -> httpx.AsyncHTTPTransport:
    """Return what carries requests to a server, by so many connections at most."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    # not a client but its transport: no redirects, cookies, proxies or other state between questions
    return httpx.AsyncHTTPTransport(limits=limits, verify=checked_by(api.base_url), trust_env=False)


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
    return misses.refused(reply.status_code, reply.headers.get("location"), body)


def unreadable(reply: httpx.Response, *, whole: bool) -> Miss | None:
    """Return why a body is not to be read, if it is not."""
    return misses.unreadable(_encoding(reply), whole=whole, more=0)


def encoded(reply: httpx.Response) -> Miss | None:
    """Say that a body is compressed, if it is."""
    return misses.encoded(_encoding(reply))


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
