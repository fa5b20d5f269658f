"""Dataclasses as plain values and back, quickly: what lies on disk is made again whenever somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Noun(Generic[T]):
    """A dataclass as a tuple of its values, in the order of its fields.

    Attributes:
        names: its fields.
        values: gives the values of one.
        made: makes one of its values.
    """

    def __init__(self, noun: Callable[..., T]) -> None:
        self.names = tuple(field.name for field in fields(noun))  # type: ignore[arg-type]
        self.values: Callable[[T], tuple[Any, ...]] = attrgetter(*self.names)
        # written out, as dataclasses do it themselves: every chunk is made again in every pass through a run
        arguments = ", ".join(f"{name}=values[{place}]" for place, name in enumerate(self.names))
        self.made: Callable[[Sequence[Any]], T] = eval(f"lambda values: noun({arguments})", {"noun": noun})  # noqa: S307

    def places(self, *names: str) -> tuple[int, ...]:
        """Give where some fields stand among the values."""
        return tuple(map(self.names.index, names))
