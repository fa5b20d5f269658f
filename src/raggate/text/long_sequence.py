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

_PIECE = 1 << 20
"""Bytes that are written at once."""

_WINDOW = 1 << 17
"""Bytes that are read at once."""


class Packing(Generic[T]):
    """How an item becomes bytes and is made of them again.

    Args:
        pack: gives what stays in memory of an item, such as the question that others share with it, and the bytes.
        unpack: makes an equal item of both.
    """

    def __init__(self, pack: Callable[[T], tuple[Any, bytes]], unpack: Callable[[Any, bytes], T]) -> None:
        self.pack = pack
        self.unpack = unpack


class LongSequence(Sequence[T]):
    """A sequence that grows at its end. An item beyond the first `FEW` is made anew whenever it is looked at.

    Args:
        packing: how items become bytes.
        items: what it begins with.
    """

    def __init__(self, packing: Packing[T], items: Iterable[T] = ()) -> None:
        self._packing = packing
        self._first: list[T] = []
        self._kept: list[Any] = []
        self._file = _File()
        self._places = array("Q")
        self.extend(items)

    def append(self, item: T) -> None:
        """Add an item.

        Raises:
            OSError: when there is no space left for it.
        """
        if len(self._first) < FEW:
            self._first.append(item)
            return
        kept, data = self._packing.pack(item)
        self._kept.append(kept)
        self._places.append(self._file.add(data))

    def chosen(self, positions: Iterable[int]) -> Sequence[T]:
        """Give the items at these positions, in this order, without looking at any that is on disk."""
        if not self._kept:
            return tuple(map(self._first.__getitem__, positions))
        return _Chosen(self, array("Q", positions))

    def extend(self, items: Iterable[T]) -> None:
        """Add items."""
        for item in items:
            self.append(item)

    def __len__(self) -> int:
        return len(self._first) + len(self._kept)

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
        place = position - len(self._first)
        if place < 0:
            return self._first[position]
        end = self._places[place + 1] if place + 1 < len(self._places) else self._file.size
        return self._packing.unpack(self._kept[place], self._file.read(self._places[place], end))


class _Chosen(Sequence[T]):
    """Some items of a sequence in an order of their own."""

    def __init__(self, whole: Sequence[T], positions: array[int]) -> None:
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
            return _Chosen(self._whole, self._positions[index])
        return self._whole[self._positions[index]]

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


def _equal(items: Sequence[Any], other: object) -> bool:
    if not isinstance(other, Sequence) or isinstance(other, str) or len(items) != len(other):
        return False
    return all(own == its for own, its in zip(items, other, strict=True))


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

    def add(self, data: bytes) -> int:
        """Add bytes; give where they begin."""
        place = self.size
        self._waiting += data
        if len(self._waiting) >= _PIECE:
            self._flush()
        return place

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
