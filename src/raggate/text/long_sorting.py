"""Sorting what is too long for memory: in lots that lie on disk and are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import TypeVar

from raggate.text.long_sequence import LongSequence, Packing

T = TypeVar("T", bound=tuple[str, ...])

_LOT = 100_000
"""Items that are sorted in memory."""


def in_order(items: Iterable[T], packing: Packing[T]) -> Iterator[T]:
    """Give items in ascending order, equal ones as they came; `packing` fits them."""
    left = iter(items)
    lots = []
    while lot := list(islice(left, _LOT)):
        lot.sort()
        lots.append(LongSequence(packing, lot))
    return merge(*lots)
