"""What values that were stored must be: types, each with pydantic's check, which is made for the first value."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

T = TypeVar("T")

_READ_AS_THEY_STAND = ("bool", "int", "float")
"""What pydantic would make of other values too: false of the text "no", a number of one that is written as text."""


class Shape(Generic[T]):
    """A type that stored values must fit: JSON's own, of which lists are tuples. No value is turned into another.

    Making its check takes milliseconds, and most commands read no such value.
    """

    def __init__(self, kind: Any) -> None:
        """Take the type."""
        self._kind = kind

    def validate_python(self, value: object) -> T:
        """Read a value; it raises pydantic's ValidationError where that does not fit."""
        read: T = self._validator.validate_python(value)
        return read

    def validate_json(self, data: bytes) -> T:
        """Read a value from JSON; it raises pydantic's ValidationError where that does not fit."""
        read: T = self._validator.validate_json(data)
        return read

    @cached_property
    def _validator(self) -> SchemaValidator:
        from pydantic import TypeAdapter
        from pydantic_core import SchemaValidator

        return SchemaValidator(_strict(TypeAdapter(self._kind).core_schema))


def _strict(schema: Any) -> Any:
    """Give the schema of a check that takes no text for a number, and nothing but true and false for either."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(_strict, schema))
    if not isinstance(schema, dict):
        return schema
    parts = {key: _strict(part) for key, part in schema.items()}
    return {**parts, "strict": True} if schema.get("type") in _READ_AS_THEY_STAND else parts
