"""One message to an MCP server, and the reply that came for it: bounded, and whatever else the server says is answered.

A server behind pipes is reached in the same way, by a transport that carries each request to it.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from msgspec import Struct

from raggate.config.ask_settings import Ask
from raggate.service import http_replies
from raggate.service.mcp import messages, replies
from raggate.service.mcp.messages import Message, RpcError
from raggate.service.mcp.terms import SESSION, Terms
from raggate.service.misses import Missed, miss
from raggate.service.server_events import Events
from raggate.service.transport import WITHIN
from raggate.text import jsonio
from raggate.text.http_client import httpx
from raggate.text.quote import cut, quoted

MAX_ASKED_BACK = 100
"""Requests of the server's own during one of raggate's."""

_STREAM = "text/event-stream"


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
        settings: timeouts and bounds.
    """

    def __init__(
        self, transport: httpx.AsyncBaseTransport, url: str, headers: Mapping[str, str], settings: Ask
    ) -> None:
        self._transport = transport
        self._url = httpx.URL(url)
        accepted = {"Accept": "application/json, text/event-stream"}
        self._headers = {**http_replies.HEADERS, **accepted, **headers}
        self._settings = settings
        self._extensions = replies.extensions(settings)
        self._numbers = itertools.count(1)

    @property
    def max_bytes(self) -> int:
        """The most bytes of one answer."""
        return self._settings.max_body_bytes

    async def ask(self, terms: Terms, method: str, params: Message) -> Answer:
        """Send a request and return its result.

        Raises:
            Expired: when the session of these terms is not known any more.
            RpcError: when there is an error in place of the result.
            Missed: when there is neither.
            httpx.TransportError: when the server cannot be reached.
        """
        number = next(self._numbers)
        message = messages.request(number, method, terms.params(params))
        reply = await self._send(terms, message)
        more = 0
        try:
            if reply.status_code != 200:
                raise await _refusal(reply, terms)
            result, size = await self._result(reply, terms, number)
        finally:
            more = await replies.close(reply)
        # a stream is left at the reply, and may have more to say
        if more and _kind(reply) != _STREAM:
            raise Missed(miss("body", f"{more} bytes came after the answer, which nobody asked for", status=200))
        try:
            return Answer(messages.result_of(result), reply.headers.get(SESSION, ""), size)
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
                raise Missed(await replies.refusal(reply))
        finally:
            await replies.close(reply)

    async def end(self, terms: Terms, seconds: float) -> None:
        """Tell the server that a session is over. What comes of that is nobody's concern.

        Args:
            seconds: how long to wait for a reply where no event loop keeps the time.

        Raises:
            httpx.TransportError: when the server cannot be reached.
        """
        headers = {**self._headers, **terms.headers({})}
        extensions = {**self._extensions, WITHIN: seconds}
        request = httpx.Request("DELETE", self._url, headers=headers, extensions=extensions)
        await replies.close(await self._transport.handle_async_request(request))

    async def _send(self, terms: Terms, message: Message) -> httpx.Response:
        headers, content = {**self._headers, **terms.headers(message)}, jsonio.dumps(message)
        request = httpx.Request("POST", self._url, headers=headers, content=content, extensions=self._extensions)
        return await self._transport.handle_async_request(request)

    async def _result(self, reply: httpx.Response, terms: Terms, number: int) -> tuple[Message, int]:
        """Return the reply to a request out of the body that came for it, and its bytes."""
        if (compressed := replies.encoded(reply)) is not None:
            raise Missed(compressed)
        asked_back = itertools.count(1)
        async with aclosing(_parts(reply, self._settings)) as parts:
            async for raw in parts:
                try:
                    came = messages.parsed(raw)
                except ValueError as error:
                    raise _broken(f"expected a JSON-RPC message, found {error}") from None
                if (message := _reply_among(came, number)) is not None:
                    # how long a stream goes on after it would count as the tool's time, so its connection is given up
                    return message, len(raw)
                for other in came:
                    await self._answer(terms, other, asked_back)
        raise Missed(miss("connection", "the server ended its answer without a result", status=200, again=True))

    async def _answer(self, terms: Terms, message: Message, asked_back: Iterator[int]) -> None:
        answer = messages.reply_to(message)
        if answer is None:
            return
        if next(asked_back) > MAX_ASKED_BACK:
            raise _broken(f"the server asks more than {MAX_ASKED_BACK} things back")
        # a server that does not take its answer harms itself alone
        with suppress(Missed):
            await self.tell(terms, answer)


async def _refusal(reply: httpx.Response, terms: Terms) -> Missed:
    """Say what a status other than 200 means."""
    body, _ = await replies.read(reply, replies.MAX_ERROR_BYTES)
    why = replies.refused(reply, body)
    if reply.status_code == 404 and terms.session:
        return Expired(why)
    if why.again:
        return Missed(why)
    with suppress(ValueError):
        (answer,) = messages.parsed(body)
        if "error" in answer:
            return RpcError(answer["error"], reply.status_code)
    return Missed(why)


def _reply_among(came: Iterable[Message], number: int) -> Message | None:
    """Return the reply to a request; what answers anything else is refused."""
    reply: Message | None = None
    for message in came:
        if messages.asks(message):
            continue
        if not messages.answers(message, number):
            raise _broken(f"the server answers request {_id(message)}, asked was {number}")
        if reply is not None:
            raise _broken(f"the server answers request {number} twice")
        reply = message
    return reply


async def _parts(reply: httpx.Response, settings: Ask) -> AsyncGenerator[bytes, None]:
    """Return what is a message, or a batch of them, each."""
    kind = _kind(reply)
    if kind == "application/json":
        body, whole = await replies.read(reply, settings.max_body_bytes)
        if (problem := replies.unreadable(reply, whole=whole, settings=settings)) is not None:
            raise Missed(problem)
        yield body
        return
    if kind != _STREAM:
        raise _broken(f"expected application/json or text/event-stream, found {quoted(kind, limit=60)}")
    events, size = Events(), 0
    async for piece in reply.aiter_raw():
        size += len(piece)
        if size > settings.max_body_bytes:
            raise Missed(miss("body", f"the event stream has more than {settings.max_body_bytes} bytes", status=200))
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
