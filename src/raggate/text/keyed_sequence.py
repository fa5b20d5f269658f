"""Long sequences whose items have names: where the item of a name stands, in some twenty bytes an item."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from raggate.text import long_sequence
from raggate.text.long_sequence import LongSequence, Packing

T = TypeVar("T")

_HASH = (1 << 64) - 1


class KeyedSequence(LongSequence[T]):
    """A long sequence of items that have names.

    Args:
        packing: how items become bytes.
        key: gives the name of an item.
        items: what it begins with.
    """

    def __init__(self, packing: Packing[T], key: Callable[[T], str], items: Iterable[T] = ()) -> None:
        self._key = key
        self._in_memory: dict[str, int] = {}
        self._on_disk = Places()
        super().__init__(packing, items)

    def append(self, item: T) -> None:
        """Add an item."""
        place = len(self)
        if place < long_sequence.FEW:
            self._in_memory.setdefault(self._key(item), place)
        else:
            self._on_disk.add(hash(self._key(item)), place)
        super().append(item)

    def find(self, key: str) -> tuple[int, T] | None:
        """Give the first item of this name and its position; None where there is none."""
        if (place := self._in_memory.get(key)) is not None:
            return place, self[place]
        # two names may share a hash, so the item has the last word
        for place in self._on_disk.of(hash(key)):
            if self._key(item := self[place]) == key:
                return place, item
        return None

    def named(self, key: str) -> T:
        """Give the first item of this name.

        Raises:
            KeyError: where there is none.
        """
        if (known := self.find(key)) is None:
            raise KeyError(key)
        return known[1]


class Places:
    """Positions by hash: a table with open addressing, which has at least two slots for each."""

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._first = 0
        self._slots = array("I", [0]) * 16

    def add(self, hashed: int, place: int) -> None:
        """Add a position; each is one higher than that before."""
        if not self._hashes:
            self._first = place
        self._hashes.append(hashed := hashed & _HASH)
        if 2 * len(self._hashes) > len(self._slots):
            self._slots = array("I", [0]) * (2 * len(self._slots))
            for number, known in enumerate(self._hashes, 1):
                self._put(known, number)
        else:
            self._put(hashed, len(self._hashes))

    def _put(self, hashed: int, number: int) -> None:
        for slot in self._way(hashed):
            if not self._slots[slot]:
                self._slots[slot] = number
                return

    def of(self, hashed: int) -> Iterator[int]:
        """Give the positions with this hash, the first first."""
        hashed &= _HASH
        for slot in self._way(hashed):
            number = self._slots[slot]
            if not number:
                return
            if self._hashes[number - 1] == hashed:
                yield self._first + number - 1

    def _way(self, hashed: int) -> Iterator[int]:
        last = len(self._slots) - 1
        slot = hashed & last
        while True:
            yield slot
            slot = (slot + 1) & last
