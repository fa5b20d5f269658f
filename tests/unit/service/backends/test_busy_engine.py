"""An engine that is busy: what only reads is asked once more, what changes something is not. No real engine."""

from __future__ import annotations

import contextlib
import json
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
        """Say nothing."""


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve as an engine, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"tcp://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def host() -> Iterator[str]:
    """Yield the address of the busy engine."""
    Busy.seen.clear()
    Busy.over.clear()
    with serving(Busy) as address:
        yield address
        Busy.over.set()


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


@pytest.mark.timeout(30)
def test_sweep_waits_for_what_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that the engine is still starting for a killed step is removed as soon as it can be."""
    monkeypatch.setattr(engine.time, "sleep", lambda _: None)
    with serving(Starting) as address:
        assert engine.sweep({"DOCKER_HOST": address, engine.STEP_VARIABLE: "s"}) == ("container api",)
    assert Starting.refusals == 8
