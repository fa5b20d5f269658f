"""An MCP server behind its standard input and output, and transports that carry each request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import IO

from raggate.base import jsonio
from raggate.base.http_client import httpx
from raggate.service.line_pipes import LinePipes
from raggate.service.mcp import protocol
from raggate.service.mcp.protocol import Message, is_answered

_GREETING = "initialize"
_INITIALIZED = "notifications/initialized"


class Pipes(LinePipes):
    """The two pipes of a server, which is greeted once in its life: who greets it again gets the same reply.

    Before that reply, lines that are no messages are taken for a banner.
    """

    who = "the server"

    def __init__(self, into: IO[bytes], out: IO[bytes], note: Callable[[bytes], None]) -> None:
        self._greeting: Future[Message] | None = None
        self._initialized = False
        super().__init__(into, out, note)

    def ask(self, message: Message) -> Future[Message]:
        """Send a request under a number of its own. The future gives the reply, or raises Missed or ReadError."""
        with self._lock:
            if message["method"] == _GREETING:
                if self._greeting is None or (self._greeting.done() and self._greeting.exception()):
                    self._greeting = self._asked(message)
                return self._greeting
            return self._asked(message)

    def tell(self, message: Message) -> None:
        if message.get("method") == _INITIALIZED:
            if self._initialized:
                return
            self._initialized = True
        self._send(message)

    def leave(self, asked: Future[Message]) -> None:
        """Stop waiting for a reply. The server gets a notice, and may still answer."""
        if asked is self._greeting:
            return
        number = self._left_behind(asked)
        if number is not None:
            self._send(protocol.notification("notifications/cancelled", {"requestId": number}))

    def transport(self) -> PipeTransport:
        return PipeTransport(self)

    def _line(self, line: bytes) -> None:
        try:
            message = protocol.parsed(line)
        except ValueError as error:
            self._note(line + b"\n")
            if self._greeting is not None and self._greeting.done():
                other = "the server wrote something other than JSON-RPC to its standard output"
                self._broken("schema", f"{other}: {error}")
            return
        if protocol.asks(message):
            answer = protocol.reply_to(message)
            if answer is not None:
                self._send(answer)
            return
        self._arrived(message.get("id"), message)


@dataclass
class PipeTransport(httpx.BaseTransport):
    """Carries one request at a time, for at most as long as it may take to read."""

    _pipes: Pipes

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        message: Message = jsonio.loads(request.content) if request.content else {}
        if not is_answered(message):
            return _as_response(self._pipes, message)
        asked = self._pipes.ask(message)
        try:
            return _response(message, asked.result(request.extensions["timeout"]["read"]))
        except TimeoutError:
            raise httpx.ReadTimeout("no reply in time") from None
        finally:
            self._pipes.leave(asked)


@dataclass
class AsyncPipeTransport(httpx.AsyncBaseTransport):
    """Carries any number of requests at a time. How long each takes is for those who wait."""

    _pipes: Pipes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        message: Message = jsonio.loads(request.content) if request.content else {}
        if not is_answered(message):
            return _as_response(self._pipes, message)
        asked = self._pipes.ask(message)
        # a greeting is shared, and goes on when one of those who wait for it does not
        shared: Future[Message] = Future()
        asked.add_done_callback(lambda done: _hand_on(done, shared))
        try:
            return _response(message, await asyncio.wrap_future(shared))
        finally:
            self._pipes.leave(asked)


def _hand_on(done: Future[Message], shared: Future[Message]) -> None:
    if not shared.set_running_or_notify_cancel():
        return
    error = done.exception()
    if error is not None:
        shared.set_exception(error)
    else:
        shared.set_result(done.result())


def _as_response(pipes: Pipes, message: Message) -> httpx.Response:
    if message:
        pipes.tell(message)
    return httpx.Response(202, stream=httpx.ByteStream(b""))


def _response(message: Message, reply: Message) -> httpx.Response:
    body = jsonio.dumps({**reply, "id": message["id"]})
    return httpx.Response(200, headers={"content-type": "application/json"}, stream=httpx.ByteStream(body))
