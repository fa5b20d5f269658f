"""What a container is given, and when a service counts as up: also behind a port that the engine publishes for it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from raggate.config.service_settings import Container
from raggate.service.backends import group
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
