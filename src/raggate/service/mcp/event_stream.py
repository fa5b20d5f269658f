"""A stream of server-sent events in pieces, cut anywhere -> the data of each event as it becomes whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Events:
    """Takes the pieces of one stream. It holds no more than the piece of an event that is not whole yet."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._after_return = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Take a piece and give the data of each event that it ends. Comments and events without data are left out."""
        if self._after_return and piece.startswith(b"\n"):
            # the other half of a line end
            piece = piece[1:]
        if piece:
            self._after_return = piece.endswith(b"\r")
        *lines, rest = _LINE_END.split(piece)
        for end in lines:
            self._line += end
            line = bytes(self._line)
            self._line.clear()
            if line:
                self._take(line)
            elif self._data:
                data = b"\n".join(self._data)
                self._data.clear()
                if data:
                    yield data
        self._line += rest

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
