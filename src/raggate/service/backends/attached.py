"""A container that is not started yet -> its standard input and output, by the stream that the engine attaches."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
from typing import IO, Any, cast

from raggate.service.backends.engine import Client

_HEADER = struct.Struct(">B3xL")
"""Before each piece of output: which stream it is of, and how many bytes it has."""


def attach(client: Client, container: str) -> tuple[IO[bytes], IO[bytes]]:
    """Return the two pipes of a container, which end with it. Nothing of its output is missed before its start."""
    stream = client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stream": 1})
    connection: socket.socket = getattr(stream, "_sock", stream)
    # that of the client is for one call, and a program may be silent for long
    connection.settimeout(None)
    return cast("IO[bytes]", _Input(connection)), cast("IO[bytes]", _Output(connection, stream))


class _Input(io.RawIOBase):
    """What the container reads."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._connection.send(data)

    def close(self) -> None:
        """End what the container reads; what it still writes can be read."""
        if not self.closed:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)
        super().close()


class _Output(io.RawIOBase):
    """What the container writes, taken out of the engine's pieces. The connection is open as long as its `owner` is."""

    def __init__(self, connection: socket.socket, owner: Any) -> None:
        self._connection = connection
        self._owner = owner
        self._left = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read as much of a piece as there is; nothing at the end."""
        while self._left == 0:
            header = self._header()
            if len(header) < _HEADER.size:
                return 0
            _, self._left = _HEADER.unpack(header)
        size = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= size
        return size

    def close(self) -> None:
        if not self.closed:
            self._owner.close()
            self._connection.close()
        super().close()

    def _header(self) -> bytes:
        header = b""
        while len(header) < _HEADER.size and (part := self._connection.recv(_HEADER.size - len(header))):
            header += part
        return header
