"""When a service counts as up: also behind a published port, where the engine takes connections for it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

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
        assert group._probe(port, "127.0.0.1") == problem


def test_nobody() -> None:
    """Where nobody listens that is said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "no connection" in str(group._probe(port, "127.0.0.1"))
