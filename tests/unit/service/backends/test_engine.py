"""A connection to an engine, played by the test: what it takes from the machine it runs on, and what it leaves."""

from __future__ import annotations

import base64
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from raggate.service.backends import engine


class Building(BaseHTTPRequestHandler):
    """An engine that keeps the headers of every request, and builds at once."""

    protocol_version = "HTTP/1.1"
    heard: ClassVar[list[dict[str, str]]] = []

    def answer(self) -> None:
        """Answer with a version or the steps of a build."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        while self.headers.get("Transfer-Encoding") == "chunked" and self.rfile.readline().strip() != b"0":
            pass
        self.heard.append(dict(self.headers))
        body = b'{"ApiVersion": "1.41", "stream": "x"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815 - the names that the library looks for

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.mark.timeout(30)
def test_a_build_is_sent_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials in HOME are not sent to the engine, and the program that they name is not run.

    A private field of the Docker library keeps them out: it has no switch for that.
    """
    ran = tmp_path / "ran"
    program = tmp_path / "docker-credential-spy"
    program.write_text(f'#!/bin/sh\ntouch "{ran}"\necho "{{}}"\n')
    program.chmod(0o755)
    config = tmp_path / ".docker/config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"auths": {"registry.test": {"auth": "dTpw"}}, "credsStore": "spy"}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    Building.heard.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Building)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with engine.connected({"DOCKER_HOST": f"tcp://127.0.0.1:{server.server_port}"}) as client:
        assert list(client.build(fileobj=io.BytesIO(b"x"), custom_context=True, tag="x"))
    server.shutdown()
    server.server_close()
    sent = base64.urlsafe_b64decode(Building.heard[-1]["X-Registry-Config"])
    assert [*json.loads(sent)] == ["registry.invalid"]
    assert not ran.exists()
