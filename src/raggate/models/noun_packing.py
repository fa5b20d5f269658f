"""Nouns as plain values and back, quickly: what lies on disk is made again whenever somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T", bound=Struct)


class Noun(Generic[T]):
    """A noun as a tuple of its values, in the order of its fields; it takes them by position.

    Attributes:
        names: its fields.
        values: gives the values of one.
    """

    def __init__(self, noun: type[T]) -> None:
        self.names = noun.__struct_fields__
        self.values: Callable[[T], tuple[Any, ...]] = attrgetter(*self.names)
        self._noun = noun

    def made(self, values: Sequence[Any]) -> T:
        """Make one of the values of all its fields."""
        if len(values) != len(self.names):
            raise TypeError(f"{self._noun.__name__} has {len(self.names)} fields, not {len(values)}")
        return self._noun(*values)

    def places(self, *names: str) -> tuple[int, ...]:
        """Give where some fields stand among the values."""
        return tuple(map(self.names.index, names))
