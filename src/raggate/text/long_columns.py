"""Rows of numbers that are read column by column: of many, the first lie in a file without a name."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from raggate.text.long_sequence import Records

_TOGETHER = 5_000
"""Rows that stay in memory, and of which the numbers of a column lie together in the file."""


class LongColumns:
    """A table that grows at its end.

    Args:
        width: numbers in a row.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._last = array("d")
        self._pieces = Records()

    def append(self, row: Iterable[float]) -> None:
        """Add a row.

        Raises:
            OSError: when there is no space left for it.
        """
        self.extend(row)

    def extend(self, numbers: Iterable[float]) -> None:
        """Add the numbers of some rows, one row after the other; it raises as `append`."""
        self._last.extend(numbers)
        if len(self._last) >= self._width * _TOGETHER:
            for at in range(self._width):
                self._pieces.append(self._last[at :: self._width].tobytes())
            self._last = array("d")

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        """Give the rows, one by one."""
        for piece in range(0, len(self._pieces), self._width):
            columns = (array("d", self._pieces[piece + at]) for at in range(self._width))
            yield from zip(*columns, strict=True)
        yield from zip(*(self._last[at :: self._width] for at in range(self._width)), strict=True)

    def column(self, at: int) -> array[float]:
        """Give a number of every row, in their order."""
        numbers = array("d")
        for piece in range(at, len(self._pieces), self._width):
            numbers.frombytes(self._pieces[piece])
        numbers.extend(self._last[at :: self._width])
        return numbers
