"""A connection to an engine, played by the test: what it takes from the machine it runs on, and what it leaves."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, strategies as st

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
        """Say nothing."""


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


pytestmark = pytest.mark.skipif(engine.own() is None, reason="needs Linux with time namespaces")
# the module alone: its package loads every backend
NAME = "import runpy, sys; print(runpy.run_path(sys.argv[1])['own'](), flush=True); input()"


@pytest.fixture
def other() -> Iterator[subprocess.Popen[str]]:
    """Yield a process that prints its name and lives until it is told."""
    words = [sys.executable, "-c", NAME, engine.__file__]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield process
        process.kill()


def named(process: subprocess.Popen[str]) -> str:
    """Read the name of a process."""
    assert process.stdout
    return process.stdout.readline().strip()


def test_alive_and_killed(other: subprocess.Popen[str]) -> None:
    """A process is over when it was killed, not before."""
    life = named(other)
    assert str(other.pid) in life.split()
    assert not engine.is_over(life)
    other.kill()
    other.wait()
    assert engine.is_over(life)
    assert not engine.is_over(str(engine.own()))


def test_a_number_that_came_again() -> None:
    """A process of the same number that was started at another time is not the one that was named."""
    scope, number, start = str(engine.own()).rsplit(" ", 2)
    assert engine.is_over(f"{scope} {number} {int(start) - 1}")


@pytest.mark.parametrize("place", range(3))
def test_elsewhere(other: subprocess.Popen[str], place: int) -> None:
    """Of another boot, or another namespace of numbers or time, nothing is known: its processes may live."""
    parts = named(other).split()
    other.kill()
    other.wait()
    assert engine.is_over(" ".join(parts))
    parts[place] = parts[place][::-1]
    assert not engine.is_over(" ".join(parts))


def test_hidden_processes(monkeypatch: pytest.MonkeyPatch, other: subprocess.Popen[str], tmp_path: Path) -> None:
    """A living process that /proc does not show is not over."""
    life = named(other)
    for name, target in (("self", str(os.getpid())), (str(os.getpid()), "/proc/self"), ("sys", "/proc/sys")):
        (tmp_path / name).symlink_to(target)
    monkeypatch.setattr(engine, "_PROC", tmp_path)
    assert engine.own() is not None
    assert not engine.is_over(life)


def test_processes_of_another_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where /proc is that of another container, no process is named at all."""
    for name, target in (("self", "1"), ("1", "/proc/self"), ("sys", "/proc/sys")):
        (tmp_path / name).symlink_to(target)
    monkeypatch.setattr(engine, "_PROC", tmp_path)
    assert engine.own() is None


def test_somebody_elses_process(monkeypatch: pytest.MonkeyPatch, other: subprocess.Popen[str]) -> None:
    """A process that may not be signalled is alive."""

    def refuse(*_: int) -> None:
        raise PermissionError

    life = named(other)
    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", refuse)
        assert not engine.is_over(life)


@given(text=st.text() | st.from_regex(r"[0-9a-f-]{1,3} \d+ \d+ -?\d+ \d+"), own_scope=st.booleans())
def test_any_text(text: str, *, own_scope: bool) -> None:
    """Whatever a label says, no group of processes and no impossible number is looked up, and nothing fails."""
    scope = str(engine.own()).rsplit(" ", 2)[0]
    number = text.split(" ")[-2:-1]
    over = engine.is_over(f"{scope} {text}" if own_scope else text)
    assert not over or (own_scope and number and int(number[0]) > 0)
