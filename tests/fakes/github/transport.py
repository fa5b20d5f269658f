"""HTTP in a thread: requests as they come in -> answers as bytes, connections broken where a fault says so."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fakes.github.calls import Request, Response

Answer = Callable[[Request], tuple[Response, str]]
"""Gives the answer and what to drop of it: nothing, "half" or "all"."""


class Listener:
    """A server on a port of its own; `answer` is called from many threads."""

    def __init__(self, host: str, answer: Answer) -> None:
        self._server = _Server((host, 0), _Handler)
        self._server.answer = answer
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        """Where the server listens."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering, and close every connection that clients keep open."""
        self._server.shutdown()
        self._thread.join(5)
        self._server.hang_up()
        self._server.server_close()  # waits for the threads of the connections


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128
    answer: Answer

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection."""
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
        parts = urlsplit(self.path)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        request = Request(self.command, parts.path, dict(pairs), headers, body, raw, pairs)
        response, drop = self.server.answer(request)
        request.status = None if drop == "all" else response.status
        self._send(response, drop)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _handle  # noqa: N815

    def _send(self, response: Response, drop: str) -> None:
        if drop != "all":
            body = encoded(response)
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            if body:
                self.send_header("Content-Type", response.content_type)
            if response.status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if drop else body)
        if drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


def encoded(response: Response) -> bytes:
    """Give the bytes of a body."""
    if response.body is None or isinstance(response.body, bytes):
        return response.body or b""
    return json.dumps(response.body).encode()
