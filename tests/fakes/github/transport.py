"""HTTP: requests as they come in -> answers as bytes, connections broken where a fault says so.

They come in over connections, or, where a test is not about those, by a short cut from httpx in the same thread: most
of what such a test would cost is the work of sockets and threads.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

from fakes.github.calls import Request, Response
from raggate.base.http_client import httpx

Answer = Callable[[Request], tuple[Response, bool]]
"""Returns the answer, and whether the connection breaks in its place."""


class Listener:
    """A server on a port of its own, as a context manager; `answer` is called from many threads."""

    def __init__(self, host: str, answer: Answer) -> None:
        self._server = _Server((host, 0), _Handler)
        self._server.answer = answer
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Answer until this is left, and then close every connection that clients keep open."""
        self._thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._thread.join(5)
            self._server.hang_up()
            self._server.server_close()  # waits for the threads of the connections

    @contextlib.contextmanager
    def short_cut(self) -> Iterator[None]:
        """Answer what httpx sends here from this process, as if it had gone over a connection, until this is left."""
        elsewhere = httpx.HTTPTransport.handle_request

        def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
            if request.url.port != self.port:
                return elsewhere(transport, request)
            return _answered(request, self._server.answer)

        try:
            with mock.patch.object(httpx.HTTPTransport, "handle_request", handle):
                yield
        finally:
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128
    answer: Answer

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection, and close it whoever still holds a file of it."""
        self._open.discard(request)
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)
        descriptor = request.detach()
        if descriptor >= 0:
            os.close(descriptor)

    def hang_up(self) -> None:
        """Break every open connection, so that the threads that wait on them end."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._send(*_asked(self.server.answer, self.command, self.path, self.headers, raw))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _handle  # noqa: N815

    def _send(self, response: Response, drop: bool) -> None:
        if drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = encoded(response)
        self.send_response(response.status)
        for name, value in _headers(response, body).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


def _asked(answer: Answer, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> tuple[Response, bool]:
    parts = urlsplit(target)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        body = None
    by_name = {name.lower(): value for name, value in headers.items()}
    request = Request(method, parts.path, dict(pairs), by_name, body, raw, pairs)
    response, drop = answer(request)
    request.status = None if drop else response.status
    return response, drop


def _headers(response: Response, body: bytes) -> dict[str, str]:
    headers = {**response.headers}
    if body:
        headers["Content-Type"] = response.content_type
    if response.status != 204:
        headers["Content-Length"] = str(len(body))
    return headers


def _answered(request: httpx.Request, answer: Answer) -> httpx.Response:
    """Carry a request and its answer over, and fail as httpx does when the connection breaks."""
    target = request.url.raw_path.decode("ascii")
    response, drop = _asked(answer, request.method, target, request.headers, request.read())
    if drop:
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
    body = encoded(response)
    headers = _headers(response, body)
    return httpx.Response(response.status, headers=headers, stream=httpx.ByteStream(body), request=request)


def encoded(response: Response) -> bytes:
    if response.body is None or isinstance(response.body, bytes):
        return response.body or b""
    return json.dumps(response.body).encode()
