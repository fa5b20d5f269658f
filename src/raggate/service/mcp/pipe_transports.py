"""Requests to an MCP server over HTTP, carried to one behind pipes: its reply becomes the body."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from raggate.service.mcp.messages import Message, is_answered
from raggate.service.mcp.pipes import Pipes
from raggate.text import jsonio
from raggate.text.http_client import httpx


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
