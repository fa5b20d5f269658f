"""What fakes that listen in this process have in common: a server on loopback, in a thread, that prints nothing."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


class Handler(BaseHTTPRequestHandler):
    """Answers for `fake`, by its methods `get`, `post` and `put`, on connections that stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def fake(self) -> Any:
        return self.server.fake  # type: ignore[attr-defined]

    def _answer(self) -> None:
        getattr(self, self.command.lower(), self._refuse)()

    do_GET = do_POST = do_PUT = _answer  # noqa: N815

    def _refuse(self) -> None:
        self.send_error(501)

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def query(self) -> dict[str, str]:
        """Return the query of the address, one value each."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def lower_headers(self) -> dict[str, str]:
        """Return the headers, their names in lower case."""
        return {name.lower(): value for name, value in self.headers.items()}

    def reply(self, status: int, content: bytes, **headers: str) -> None:
        """Answer with a whole body."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    fake: object

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: clients that hang up are part of the tests."""


class Served:
    """A context manager around a server of its own."""

    handler: type[BaseHTTPRequestHandler]
    """Answers what comes in."""

    def listen(self) -> None:
        """Take a port, on which nothing is answered yet."""
        self._server = _Server(("127.0.0.1", 0), self.handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
