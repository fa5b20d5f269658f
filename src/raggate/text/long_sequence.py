"""Sequences that are too long for memory: what is beyond the first items lies in a file without a name."""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from raggate.text import disk

T = TypeVar("T")

FEW = 5_000
"""Items that stay in memory; a sequence of no more than these touches no disk."""

MOST_IN_MEMORY = 32 << 20
"""Bytes of a file from elsewhere whose items stay in memory: five thousand answers of ten chunks have as many.

JSON that is made for it takes over twenty times its size there."""

MANY_TIMES = 10
"""So many times as many beside them, and they go to the disk too: going through a few of many again costs little."""

_PIECE = 1 << 20
"""Bytes that are written at once."""

_WINDOW = 1 << 17
"""Bytes that are read at once."""


_TOGETHER = 16
"""Items of which one place in the file is kept; of each only its length is."""


class Packing(Generic[T]):
    """How an item becomes bytes and is made of them again.

    Args:
        pack: gives the bytes of an item, fewer than 4 GiB.
        unpack: makes an equal item of them.
    """

    def __init__(self, pack: Callable[[T], bytes], unpack: Callable[[bytes], T]) -> None:
        self.pack = pack
        self.unpack = unpack


class LongSequence(Sequence[T]):
    """A sequence that grows at its end. An item beyond the first `FEW` is made anew whenever it is looked at.

    Of a sequence many times as long, these are made anew too.

    Args:
        packing: how items become bytes.
        items: what it begins with.
    """

    def __init__(self, packing: Packing[T], items: Iterable[T] = ()) -> None:
        self._packing = packing
        self._first: list[T] = []
        self._begin = Records()
        self._rest = Records()
        self._all_to_disk = False
        self.extend(items)

    @property
    def on_disk(self) -> bool:
        """Whether some of it is no longer in memory."""
        return len(self._rest) > 0

    def keep_no_more(self) -> None:
        """Put every further item on the disk, however few there are."""
        self._all_to_disk = True

    def append(self, item: T) -> None:
        """Add an item.

        Raises:
            OSError: when there is no space left for it.
        """
        if len(self) < FEW and not self._all_to_disk:
            self._first.append(item)
            return
        self._rest.append(self._packing.pack(item))
        if self._first and len(self._rest) >= MANY_TIMES * FEW:
            for early in self._first:
                self._begin.append(self._packing.pack(early))
            self._first = []

    def chosen(self, positions: Sequence[int]) -> Sequence[T]:
        """Give the items at these positions, in this order, without looking at any that is on disk.

        The positions are kept as they are, and must not change afterwards.
        """
        if not self._rest:
            return tuple(map(self._first.__getitem__, positions))
        return Chosen(self, positions)

    def extend(self, items: Iterable[T]) -> None:
        """Add items."""
        for item in items:
            self.append(item)

    def __len__(self) -> int:
        return len(self._first) + len(self._begin) + len(self._rest)

    def __iter__(self) -> Iterator[T]:
        return map(self._at, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        """Give an item, or a view of several."""
        places = range(len(self))[index]
        return self.chosen(places) if isinstance(places, range) else self._at(places)

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def _at(self, position: int) -> T:
        if position < len(self._first):
            return self._first[position]
        if position < len(self._begin):
            return self._packing.unpack(self._begin[position])
        return self._packing.unpack(self._rest[position - len(self._first) - len(self._begin)])


def on_disk(packing: Packing[T], items: Iterable[T]) -> LongSequence[T]:
    """Give a sequence of which nothing stays in memory.

    JSON that somebody made for it takes twenty times its size there, however few items it is.
    """
    sequence = LongSequence(packing)
    sequence.keep_no_more()
    sequence.extend(items)
    return sequence


class Chosen(Sequence[T]):
    """Some items of a sequence in an order of their own."""

    def __init__(self, whole: Sequence[T], positions: Sequence[int]) -> None:
        self._whole = whole
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[T]:
        return map(self._whole.__getitem__, self._positions)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return Chosen(self._whole, self._positions[index])
        return self._whole[self._positions[index]]

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


def those(items: Sequence[T], keep: Callable[[T], object]) -> Sequence[T]:
    """Give the items that are to be kept, by their places: none of them is held for it."""
    return Chosen(items, array("Q", (place for place, item in enumerate(items) if keep(item))))


def _equal(items: Sequence[Any], other: object) -> bool:
    if not isinstance(other, Sequence) or isinstance(other, str) or len(items) != len(other):
        return False
    return all(own == its for own, its in zip(items, other, strict=True))


class Records:
    """Pieces of bytes, one behind the other in a file. Each takes some five bytes of memory."""

    def __init__(self) -> None:
        self._file = _File()
        self._lengths = array("I")
        self._begins = array("Q")

    def append(self, data: bytes) -> None:
        """Add a piece."""
        if len(self._lengths) % _TOGETHER == 0:
            self._begins.append(self._file.size)
        self._lengths.append(len(data))
        self._file.add(data)

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, place: int) -> bytes:
        first = place - place % _TOGETHER
        begin = self._begins[place // _TOGETHER] + sum(self._lengths[first:place])
        return self._file.read(begin, begin + self._lengths[place])


class _File:
    """Bytes in a file that vanishes with the process, however that ends: it has no name."""

    def __init__(self) -> None:
        self._stream: Any = None
        self._waiting = bytearray()
        self._written = 0
        self._begin = 0
        self._window = b""

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._written + len(self._waiting)

    def add(self, data: bytes) -> None:
        """Add bytes at the end."""
        self._waiting += data
        if len(self._waiting) >= _PIECE:
            self._flush()

    def read(self, begin: int, end: int) -> bytes:
        """Give the bytes of a range."""
        if end > self._written:
            self._flush()
        if begin < self._begin or end > self._begin + len(self._window):
            # items are mostly looked at in order, and one call of the system costs as much as making one of them again
            self._begin, self._window = begin, os.pread(self._stream.fileno(), max(_WINDOW, end - begin), begin)
        return self._window[begin - self._begin : end - self._begin]

    def _flush(self) -> None:
        try:
            if self._stream is None:
                self._stream = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as the sequence
                weakref.finalize(self, self._stream.close)
            view = memoryview(self._waiting)
            while view:
                view = view[self._stream.write(view) :]
            view.release()
        except OSError as error:
            raise disk.naming(error, Path(tempfile.gettempdir())) from error
        self._written += len(self._waiting)
        self._waiting = bytearray()
