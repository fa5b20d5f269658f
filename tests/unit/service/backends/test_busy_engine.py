"""An engine that is busy: what only reads is asked once more, what changes something is not. No real engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from raggate.service.backends import engine


class Busy(BaseHTTPRequestHandler):
    """An engine that takes the first request of each kind and path, and never answers it."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]] = []
    over = threading.Event()

    def answer(self) -> None:
        """Answer whatever it is, the second time."""
        request = f"{self.command} {self.path}"
        self.seen.append(request)
        if self.seen.count(request) == 1 and self.path != "/version":
            self.over.wait(60)
            self.close_connection = True
            return
        body = b'{"ApiVersion": "1.41", "Id": "x"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815 - the names that the library looks for

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    """Give the address of the busy engine."""
    Busy.seen.clear()
    Busy.over.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"tcp://127.0.0.1:{server.server_port}"
    Busy.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.timeout(30)
def test_reading_is_tried_once_more(host: str) -> None:
    """A look that is not answered in time is made again, and its answer counts."""
    with engine.connected({"DOCKER_HOST": host}, seconds=0.5) as client:
        assert client.inspect_image("x")["Id"] == "x"
    assert Busy.seen.count("GET /v1.41/images/x/json") == 2


@pytest.mark.timeout(30)
def test_changing_is_not(host: str) -> None:
    """What changes something may have done so: it fails, and is cleaned up by its label."""
    with engine.connected({"DOCKER_HOST": host}, seconds=0.5) as client, pytest.raises(engine.engine_errors()):
        client.start("x")
    assert Busy.seen.count("POST /v1.41/containers/x/start") == 1
