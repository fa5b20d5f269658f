"""What values that were stored must be: types, each with pydantic's check, which is made for the first value."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


class Shape(Generic[T]):
    """A type that stored values must fit. Making its check takes milliseconds, and most commands read no such value."""

    def __init__(self, kind: Any) -> None:
        """Take the type."""
        self._kind = kind

    def validate_python(self, value: object) -> T:
        """Read a value; it raises pydantic's ValidationError where that does not fit."""
        return self._adapter.validate_python(value)

    def validate_json(self, data: bytes) -> T:
        """Read a value from JSON; it raises pydantic's ValidationError where that does not fit."""
        return self._adapter.validate_json(data)

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        from pydantic import TypeAdapter

        return TypeAdapter(self._kind)
