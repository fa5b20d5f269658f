"""An MCP server behind its standard input and output: bounded lines, and transports that carry each request."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import IO, Any

from raggate.base import jsonio
from raggate.base.http_client import httpx
from raggate.base.quote import cut
from raggate.service.answer_limits import MAX_BODY_BYTES
from raggate.service.mcp import protocol
from raggate.service.mcp.protocol import Message, is_answered
from raggate.service.misses import Missed, miss

MAX_UNSENT = 1_000
"""Messages that may wait for a server that does not read; answers to what it asks are dropped beyond that."""

_PIECE = 1 << 16
_GREETING = "initialize"
_INITIALIZED = "notifications/initialized"


class Pipes:
    """The two pipes, with a thread for each.

    A server is greeted once in its life: who greets it again gets the same reply. Before that reply, lines that are no
    messages are taken for a banner.
    """

    def __init__(self, into: IO[bytes], out: IO[bytes], note: Callable[[bytes], None]) -> None:
        self._into = into
        self._out = out
        self._note = note
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Message]] = {}
        self._left: set[int] = set()
        self._greeting: Future[Message] | None = None
        self._initialized = False
        self._problem: Exception | None = None
        self._ended = False
        self._partial = bytearray()
        self._skipping = False
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        works = (self._write, self._read)
        self._threads = [threading.Thread(target=work, name="MCP over pipes", daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def ask(self, message: Message) -> Future[Message]:
        """Send a request; its number is replaced by one that no other has. The future gives the reply, or raises.

        Raises, through the future:
            Missed: when the server breaks the protocol.
            httpx.ReadError: when it closes its output.
        """
        with self._lock:
            if message["method"] == _GREETING:
                if self._greeting is None or (self._greeting.done() and self._greeting.exception()):
                    self._greeting = self._asked(message)
                return self._greeting
            return self._asked(message)

    def tell(self, message: Message) -> None:
        """Send what gets no reply."""
        if message.get("method") == _INITIALIZED:
            if self._initialized:
                return
            self._initialized = True
        self._send(message)

    def leave(self, asked: Future[Message]) -> None:
        """Wait for a reply no longer. The server is told, and may still give it."""
        with self._lock:
            number = next((number for number, future in self._waiting.items() if future is asked), None)
            if number is None or asked is self._greeting:
                return
            del self._waiting[number]
            self._left.add(number)
        self._send(protocol.notification("notifications/cancelled", {"requestId": number}))

    def close(self) -> None:
        """Close its standard input once all is sent, which tells it to end."""
        self._unsent.put(None)

    def _asked(self, message: Message) -> Future[Message]:
        future: Future[Message] = Future()
        if self._problem is not None or self._ended:
            future.set_exception(self._problem or _closed())
            self._problem = None
            return future
        number = next(self._numbers)
        self._waiting[number] = future
        self._send({**message, "id": number})
        return future

    def _send(self, message: Message) -> None:
        if self._unsent.qsize() < MAX_UNSENT:
            self._unsent.put(jsonio.dumps(message) + b"\n")

    def _write(self) -> None:
        # it may close its input, or never read it and be killed: neither is told here
        with contextlib.suppress(OSError, ValueError), self._into:
            while (line := self._unsent.get()) is not None:
                left = memoryview(line)
                while left:
                    left = left[self._into.write(left) or 0 :]

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._out:
            while piece := self._out.read(_PIECE):
                self._take(piece)
        with self._lock:
            self._ended = True
        self._fail(_closed())

    def _take(self, piece: bytes) -> None:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._extend(end)
            line = bytes(self._partial)
            self._partial.clear()
            if not self._skipping and line.strip():
                self._line(line)
            self._skipping = False
        self._extend(rest)

    def _extend(self, part: bytes) -> None:
        self._partial += part
        if len(self._partial) > MAX_BODY_BYTES:
            # what is skipped is told again each time it has grown as much
            self._partial.clear()
            self._skipping = True
            self._broken("body", f"the server wrote a line of more than {MAX_BODY_BYTES} bytes")

    def _line(self, line: bytes) -> None:
        try:
            self._message(protocol.parsed(line))
        except ValueError as error:
            self._note(line + b"\n")
            if self._greeting is not None and self._greeting.done():
                self._broken("schema", f"the server wrote what is no JSON-RPC message to its standard output: {error}")

    def _message(self, message: Message) -> None:
        if protocol.asks(message):
            answer = protocol.reply_to(message)
            if answer is not None:
                self._send(answer)
            return
        number: Any = message.get("id")
        with self._lock:
            waiting = self._waiting.pop(number, None) if type(number) is int else None
            late = waiting is None and type(number) is int and number in self._left
            if late:
                self._left.discard(number)
        if waiting is not None:
            with contextlib.suppress(InvalidStateError):
                waiting.set_result(message)
        elif not late:
            shown = cut(jsonio.dumps(number).decode(), limit=60)
            self._broken("schema", f"the server answers request {shown}, which nobody asked, or was answered already")

    def _broken(self, kind: Any, message: str) -> None:
        self._fail(Missed(miss(kind, message)))

    def _fail(self, error: Exception) -> None:
        """Fail all that wait; where nobody does, the next one."""
        with self._lock:
            waiting = [*self._waiting.values()]
            self._waiting.clear()
            self._problem = None if waiting else error
        for future in waiting:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(error)


def _closed() -> Exception:
    return httpx.ReadError("the server closed its standard output")


class PipeTransport(httpx.BaseTransport):
    """Carries one request at a time, for at most as long as it may take to read."""

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the message and wait for the reply to it."""
        message = _message(request)
        if not is_answered(message):
            return _as_response(self._pipes, message)
        asked = self._pipes.ask(message)
        try:
            return _response(message, asked.result(request.extensions["timeout"]["read"]))
        except TimeoutError:
            raise httpx.ReadTimeout("no reply in time") from None
        finally:
            self._pipes.leave(asked)


class AsyncPipeTransport(httpx.AsyncBaseTransport):
    """Carries any number of requests at a time. How long each takes is for those who wait."""

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the message and wait for the reply to it."""
        message = _message(request)
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


def _message(request: httpx.Request) -> Message:
    message: Message = jsonio.loads(request.content) if request.content else {}
    return message


def _as_response(pipes: Pipes, message: Message) -> httpx.Response:
    if message:
        pipes.tell(message)
    return httpx.Response(202, stream=httpx.ByteStream(b""))


def _response(message: Message, reply: Message) -> httpx.Response:
    body = jsonio.dumps({**reply, "id": message["id"]})
    return httpx.Response(200, headers={"content-type": "application/json"}, stream=httpx.ByteStream(body))
