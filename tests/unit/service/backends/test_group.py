"""What a container is given, and when a service counts as up: also behind a port that the engine publishes for it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.config.service_settings import Container
from raggate.service.backends import group
from raggate.service.backends.group import attach
from tables import each_row


@contextlib.contextmanager
def listener(greet: Callable[[socket.socket], None]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = threading.Event()

        def serve() -> None:
            with server.accept()[0] as connection:
                greet(connection)
                over.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join()


def service(port: int, **fields: Any) -> Container:
    return Container(image="store:1", port=port, **fields)


@each_row(
    ("greet", "problem"),
    [
        pytest.param(lambda _: None, None, id="silent"),
        pytest.param(lambda connection: connection.sendall(b"220 hello"), None, id="greets"),
        pytest.param(lambda connection: connection.shutdown(socket.SHUT_RDWR), "it hangs up", id="hangs up"),
    ],
)
def test_a_taken_connection(greet: Callable[[socket.socket], None], problem: str | None) -> None:
    """Who keeps the line or says something is up; who hangs up at once is the engine, with nobody behind it."""
    with listener(greet) as port:
        assert group._probe(service(port), "127.0.0.1") == problem


@each_row(
    ("status", "problem"),
    [
        ("204 No Content", None),
        ("503 Service Unavailable", "GET /up answers 503"),
        ("302 Found", "GET /up answers 302"),
    ],
)
def test_a_service_with_a_health_path_answers_2xx(status: str, problem: str | None) -> None:
    """That it takes a connection is not enough, as a store may still be loading."""

    def greet(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        connection.close()

    with listener(greet) as port:
        assert group._probe(service(port, health_path="/up"), "127.0.0.1") == problem


def test_nobody() -> None:
    """Where nobody listens that is said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "no connection" in str(group._probe(service(port), "127.0.0.1"))


@each_row(
    ("writable", "read_only", "tmpfs"),
    [(["/tmp"], True, {"/tmp", "/data"}), ([], True, {"/data"}), (["/", "/cache"], False, {"/cache"})],
)
def test_what_can_be_written(writable: list[str], read_only: bool, tmpfs: set[str]) -> None:
    """Only what is named can be written, in memory, and a volume of the image too; `/` alone opens the file system."""
    engine: Any = SimpleNamespace(inspect_image=lambda _: {"Config": {"Volumes": {"/data": {}}}})
    settings = Container(image="x", writable=writable)
    host = group.hardened(engine, settings, "x", internal=True)
    assert (host["read_only"], set(host["tmpfs"]), host["cap_drop"]) == (read_only, tmpfs, ["ALL"])


class Engine:
    """An engine whose attached stream is one end of a pair of sockets."""

    def __init__(self) -> None:
        self.end, self._other = socket.socketpair()
        self.params: Any = None

    def attach_socket(self, _container: str, params: Any) -> socket.socket:
        self.params = params
        # as that of the client: for one call
        self._other.settimeout(0.01)
        return self._other


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(1, 40))
def test_output_is_put_together(pieces: list[bytes], size: int) -> None:
    """However the engine cuts it, and however little is read at a time, the bytes are those that were written."""
    engine = Engine()
    into, out = attach(engine, "c")
    with engine.end, into, out:
        engine.end.sendall(b"".join(struct.pack(">BxxxL", 1, len(piece)) + piece for piece in pieces))
        engine.end.shutdown(socket.SHUT_WR)
        assert b"".join(iter(lambda: out.read(size), b"")) == b"".join(pieces)


def test_a_stream_that_ends_in_a_header_is_at_its_end() -> None:
    """Half a header is no output."""
    engine = Engine()
    into, out = attach(engine, "c")
    with engine.end, into, out:
        engine.end.sendall(b"\x01\0\0")
        engine.end.shutdown(socket.SHUT_WR)
        assert out.read(10) == b""


def test_input_ends_and_output_goes_on() -> None:
    """What is written arrives as it is. After the end of the input, and any silence, the container may still answer."""
    engine = Engine()
    into, out = attach(engine, "c")
    assert engine.params == {"stdin": 1, "stdout": 1, "stream": 1}
    with engine.end, out:
        assert into.write(b"question\n") == 9
        into.close()
        assert engine.end.recv(100) == b"question\n"
        assert engine.end.recv(100) == b""
        assert out._connection.gettimeout() is None  # type: ignore[attr-defined]
        engine.end.sendall(struct.pack(">BxxxL", 1, 6) + b"answer")
        assert out.read(100) == b"answer"
