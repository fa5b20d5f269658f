"""An engine that is busy: what it cannot remove yet is tried again. No real engine."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from raggate.service.backends import engine


class Starting(BaseHTTPRequestHandler):
    """An engine with one container, which it is starting: it is refused to be removed for the first seven times."""

    protocol_version = "HTTP/1.1"
    refusals = 0

    def do_GET(self) -> None:
        """List the container as long as it is there, and nothing else."""
        left = [{"Id": "c1", "Names": ["/api"]}] if self.refusals < 8 else []
        lists = {"version": {"ApiVersion": "1.41"}, "containers/json": left, "networks": [], "volumes": {"Volumes": []}}
        path = self.path.partition("?")[0].removeprefix("/v1.41").strip("/")
        self.answer(200, lists[path])

    def do_DELETE(self) -> None:
        """Refuse to remove the container, seven times."""
        type(self).refusals += 1
        started = self.refusals > 7
        self.answer(204 if started else 409, None if started else {"message": "the container is being started"})

    def answer(self, status: int, value: object) -> None:
        """Send a value as JSON, or nothing."""
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if body:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"tcp://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.timeout(30)
def test_sweep_waits_for_what_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that the engine is still starting for a killed step is removed as soon as it can be."""
    monkeypatch.setattr(engine.time, "sleep", lambda _: None)
    with serving(Starting) as address:
        assert engine.sweep({"DOCKER_HOST": address, engine.STEP_VARIABLE: "s"}) == ("container api",)
    assert Starting.refusals == 8
