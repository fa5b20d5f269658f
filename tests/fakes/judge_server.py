"""A scriptable server of judges in a thread, which speaks as OpenAI's and as Anthropic's does, faults included."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self
from unittest import mock

from fakes.served import Handler, Served
from raggate.base.http_client import httpx


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a request gets.

    Attributes:
        text: of the reply; a mapping is sent as JSON.
        status: HTTP status; what is not 200 has the text as its body.
        headers: further headers.
        delay: seconds before the answer.
        model: who is said to have answered; empty for the model that was asked for.
        usage: tokens read and written; None for an answer that does not tell.
        finish: why the reply ended, in the words of OpenAI.
        raw: sent as the body in place of all that.
        drop: closes the connection in the middle of the body.
    """

    text: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    model: str = ""
    usage: tuple[int, int] | None = (100, 10)
    finish: str = "stop"
    raw: bytes | None = None
    drop: bool = False

    def body(self, path: str, asked: str) -> bytes:
        if self.raw is not None:
            return self.raw
        text = self.text if isinstance(self.text, str) else json.dumps(self.text)
        if self.status != 200:
            return text.encode()
        model = self.model or asked
        if path.endswith("/messages"):
            content = (
                {"type": "text", "text": text}
                if isinstance(self.text, str)
                else {"type": "tool_use", "id": "t1", "name": "grade", "input": self.text}
            )
            body: dict[str, Any] = {"model": model, "content": [content], "stop_reason": "end_turn"}
            names = ("input_tokens", "output_tokens")
        else:
            choice = {"index": 0, "finish_reason": self.finish, "message": {"role": "assistant", "content": text}}
            body = {"object": "chat.completion", "model": model, "choices": [choice]}
            names = ("prompt_tokens", "completion_tokens")
        if self.usage is not None:
            body["usage"] = dict(zip(names, self.usage, strict=True))
        return json.dumps(body).encode()


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it came in: path, headers in lower case, JSON body; and the text of its last message."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return str(self.body["messages"][-1]["content"])


Script = Callable[[Request], Answer]


class FakeJudge(Served):
    """A context manager around the server.

    What httpx asks of it in this process comes by a short cut, unless a test is about connections: most of what such a
    test would cost is the work of sockets and threads.

    Args:
        script: what each request gets; called from many threads.
        wire: whether every request comes over a connection.
    """

    def __init__(self, script: Script | None = None, *, wire: bool = False) -> None:
        self._wire = wire
        self.script = script or (lambda _: Answer(text={"score": 4}))
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.peak = 0
        self._now = 0
        self._lock = threading.Lock()
        self.handler = _Handler
        self.listen()
        self.url = self.base_url

    @property
    def calls(self) -> int:
        """How many requests came in."""
        return len(self.requests)

    def __enter__(self) -> Self:
        self._short_cut = mock.patch.object(httpx.AsyncHTTPTransport, "handle_async_request", self._handling())
        if not self._wire:
            self._short_cut.start()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        if not self._wire:
            self._short_cut.stop()
        super().__exit__(*error)

    @contextlib.contextmanager
    def taken(self, request: Request) -> Iterator[Answer]:
        """Take a request down and let the script answer it; it counts as open until this is left."""
        with self._lock:
            self.requests.append(request)
            self.times.append(time.monotonic())
            self._now += 1
            self.peak = max(self.peak, self._now)
        try:
            yield self.script(request)
        finally:
            with self._lock:
                self._now -= 1

    def _handling(self) -> Callable[[httpx.AsyncHTTPTransport, httpx.Request], Awaitable[httpx.Response]]:
        elsewhere = httpx.AsyncHTTPTransport.handle_async_request

        async def handle(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
            if request.url.port != self._server.server_port:
                return await elsewhere(transport, request)
            # other requests come in meanwhile, as they do over connections
            await asyncio.sleep(0)
            body = json.loads(request.content)
            path = request.url.raw_path.decode("ascii")
            with self.taken(Request(path=path, headers=dict(request.headers), body=body)) as answer:
                await asyncio.sleep(answer.delay)
            data = answer.body(path, body["model"])
            stream = _Broken(data[: len(data) // 2]) if answer.drop else httpx.ByteStream(data)
            headers = {**answer.headers, "Content-Length": str(len(data))}
            return httpx.Response(answer.status, headers=headers, stream=stream, request=request)

        return handle


class _Broken(httpx.AsyncByteStream):
    """The part of a body that came before the connection broke."""

    def __init__(self, part: bytes) -> None:
        self._part = part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._part
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


class _Handler(Handler):
    # head and body in one packet: the second of two would wait 40 ms for an acknowledgement
    wbufsize = -1

    def post(self) -> None:
        body = self.body()
        with self.fake.taken(Request(path=self.path, headers=self.lower_headers(), body=body)) as answer:
            time.sleep(answer.delay)
        data = answer.body(self.path, body["model"])
        try:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if answer.drop else data)
            self.close_connection = self.close_connection or answer.drop
        except OSError:
            # whoever asked has gone away
            self.close_connection = True
