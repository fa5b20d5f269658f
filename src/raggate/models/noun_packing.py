"""Dataclasses as plain values and back, quickly: what lies on disk is made again whenever somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, make_dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Noun(Generic[T]):
    """A frozen dataclass with slots as a tuple of its values, in the order of its fields.

    Attributes:
        names: its fields.
        values: gives the values of one.
        made: makes one of its values.
    """

    def __init__(self, noun: type[T]) -> None:
        self.names = tuple(field.name for field in fields(noun))  # type: ignore[arg-type]
        self.values: Callable[[T], tuple[Any, ...]] = attrgetter(*self.names)
        self._open = _opened(noun, self.names)

    def made(self, values: Sequence[Any]) -> T:
        """Make one of the values of all its fields."""
        return self._open(*values)

    def places(self, *names: str) -> tuple[int, ...]:
        """Give where some fields stand among the values."""
        return tuple(map(self.names.index, names))


def _opened(noun: type[T], names: Sequence[str]) -> Callable[..., T]:
    """Give what makes a frozen dataclass of its values: a twin with the same slots that is not frozen yet.

    A frozen one sets each of its fields by a call, which takes five times as long, and a question has ten chunks of
    eleven fields, which are made again in every pass through a run.
    """

    def freeze(twin: Any) -> None:
        twin.__class__ = noun

    return make_dataclass(noun.__name__, names, slots=True, namespace={"__post_init__": freeze})
