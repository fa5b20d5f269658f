"""Bytes that are too long for memory: a file as it was read or will be written. Many lie in a file without a name."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path

from raggate.text import disk

IN_MEMORY = 4 << 20
"""Bytes that stay in memory; no more than these touch no disk."""

_PIECE = 1 << 18


class TooLongError(ValueError):
    """There are more bytes than there may be, in all or in a line."""


class LongBytes:
    """Bytes that are put together piece by piece, and then read as often as one likes.

    Args:
        pieces: the bytes.
        most: how many there may be; None for any number.

    Raises:
        TooLongError: for more than `most`.
        OSError: when there is no space left for them.
    """

    def __init__(self, pieces: Iterable[bytes] = (), *, most: int | None = None) -> None:
        self._stream = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - as long as the bytes
        weakref.finalize(self, self._stream.close)
        self._size = 0
        for piece in pieces:
            self._size += len(piece)
            if most is not None and self._size > most:
                raise TooLongError(f"larger than {most} bytes")
            self._do(partial(self._stream.write, piece))
        self._do(self._stream.flush)

    def _do(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            raise disk.naming(error, Path(tempfile.gettempdir())) from error

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LongBytes):
            return NotImplemented
        return len(self) == len(other) and all(own == its for own, its in zip_longest(self.pieces(), other.pieces()))

    __hash__ = None  # type: ignore[assignment]

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes piece by piece."""
        for begin in range(0, self._size, _PIECE):
            # whoever else reads them meanwhile has moved the place
            self._stream.seek(begin)
            yield self._stream.read(_PIECE)

    def lines(self, most: int) -> Iterator[bytes]:
        """Yield them line by line, each with its end.

        Raises:
            TooLongError: at a line of more than some `most` bytes.
        """
        rest = b""
        for piece in self.pieces():
            first, *others = (rest + piece).split(b"\n")
            for line in others:
                yield first + b"\n"
                first = line
            if len(first) > most:
                raise TooLongError(f"a line of more than {most} bytes")
            rest = first
        if rest:
            yield rest

    def whole(self) -> bytes:
        """Return all of them at once, for those who need them in memory."""
        return b"".join(self.pieces())
