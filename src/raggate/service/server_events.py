"""A stream of server-sent events in pieces, cut anywhere -> each event as it becomes whole. Pure, and linear."""

from __future__ import annotations

import re
from collections.abc import Iterator

UNNAMED = "message"
"""What an event without a name is called, as the standard has it."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = b"\xef\xbb\xbf"


class Events:
    """Takes the pieces of one stream. It has no more than the piece of an event that is not whole yet."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._name = UNNAMED
        self._data: list[bytes] = []
        self._after_return = False
        self._first = True

    def feed(self, piece: bytes) -> Iterator[tuple[str, bytes]]:
        """Take a piece, and give name and data of each event that it ends. What has no data is passed over."""
        if self._after_return and piece.startswith(b"\n"):
            # the other half of a line end
            piece = piece[1:]
        if piece:
            self._after_return = piece.endswith(b"\r")
        *ends, rest = _LINE_END.split(piece)
        for end in ends:
            self._line += end
            line = bytes(self._line)
            self._line.clear()
            yield from self._take(line)
        self._line += rest

    def _take(self, line: bytes) -> Iterator[tuple[str, bytes]]:
        if self._first:
            self._first, line = False, line.removeprefix(_MARK)
        if not line:
            if self._data:
                yield self._name, b"\n".join(self._data)
            self._name, self._data = UNNAMED, []
            return
        key, _, value = line.partition(b":")
        if key == b"data":
            self._data.append(value.removeprefix(b" "))
        elif key == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace") or UNNAMED
