"""The stream that an engine attaches to a container, taken apart."""

from __future__ import annotations

import socket
import struct
from typing import Any

from hypothesis import given, strategies as st

from raggate.service.backends.attached import attach


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
