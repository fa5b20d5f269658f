"""Which questions, notes and places a fault strikes: drawn by hashes, so that every run strikes the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from math import floor
from typing import TypeVar

T = TypeVar("T")


def lot(*parts: object) -> bytes:
    """Return a lot for what is named by these parts: as good as random, and always the same."""
    # a sign that no note or question holds stands between the parts, so that none runs into the next
    return sha256("\0".join(map(str, parts)).encode(errors="surrogatepass")).digest()


def struck(keys: Iterable[str], share: float, fault: str) -> frozenset[str]:
    """Choose a share of keys, exactly so many (half up), and at least one of some.

    A larger share of the same fault strikes all that a smaller one does, and more.

    Args:
        keys: names of questions or notes; doubles count once.
        share: from 0 to 1.
        fault: the name of the fault, without its size.
    """
    ordered = sorted(set(keys), key=lambda key: lot(fault, key))
    count = floor(share * len(ordered) + 0.5)
    return frozenset(ordered[: max(count, 1) if share > 0 else 0])


def shuffled(items: Sequence[T], *parts: object) -> list[T]:
    """Put items into another order, which is that of lots of their places."""
    return [items[place] for place in sorted(range(len(items)), key=lambda place: lot(*parts, place))]
