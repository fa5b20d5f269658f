"""As much of an HTTP/1.1 server as fake APIs need: `http.server` loads the mail package and TLS at every start.

A handler has methods `get` and `post`, which read `path`, `headers` and `rfile`, and call `answer`.
"""

from __future__ import annotations

import socketserver
import sys
from http import HTTPStatus


class PlainHandler(socketserver.StreamRequestHandler):
    """Answers the requests of one connection, until either side closes it."""

    wbufsize = -1  # header and body in one packet: two would wait for a delayed acknowledgement
    disable_nagle_algorithm = True
    line = ""
    path = ""
    headers: dict[str, str]
    close_connection = False

    def handle(self) -> None:
        while not self.close_connection:
            self.line = self.rfile.readline(1 << 16).decode("latin-1").strip()
            method, _, rest = self.line.partition(" ")
            if not method:
                break
            self.path = rest.partition(" ")[0]
            self.headers = self._read_headers()
            self.close_connection = self.headers.get("connection", "").lower() == "close"
            {"GET": self.get, "POST": self.post}.get(method, self.refuse)()
            self.wfile.flush()

    def get(self) -> None:
        self.refuse()

    def post(self) -> None:
        self.refuse()

    def refuse(self) -> None:
        """Answer that the method is none of this API's."""
        self.answer(405, b"")

    def answer(self, status: int, body: bytes | None) -> None:
        """Send the status and a body; without one, what is written from then on is the body, until the end."""
        phrase = HTTPStatus(status).phrase
        length = "Connection: close" if body is None else f"Content-Length: {len(body)}"
        self.wfile.write(f"HTTP/1.1 {status} {phrase}\r\n{length}\r\n\r\n".encode("latin-1") + (body or b""))
        self.close_connection = self.close_connection or body is None
        sys.stderr.write(f'"{self.line}" {status}\n')

    def _read_headers(self) -> dict[str, str]:
        headers = {}
        while line := self.rfile.readline(1 << 16).decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return headers


class PlainServer(socketserver.ThreadingTCPServer):
    """Does not print a traceback when a client goes away."""

    allow_reuse_address = True
    daemon_threads = True
    # the default is 5, and a busy machine loses connections beyond it
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing."""
