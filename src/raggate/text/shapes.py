"""What values that were stored must be: types, each with pydantic's check, which is made for the first value."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, get_type_hints

from msgspec import Struct
from msgspec.structs import fields, force_setattr

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema, SchemaValidator


from raggate.text.quote import quoted

T = TypeVar("T")

_READ_AS_THEY_STAND = ("bool", "int", "float")
"""What pydantic would make of other values too: false of the text "no", a number of one that is written as text."""


_MANY = ("list", "tuple", "set", "frozenset", "dict")
"""What may have any number of entries."""

_DESCRIBED: ContextVar[AbstractSet[str]] = ContextVar("nouns whose fields are being described", default=frozenset())


_ATOMS = frozenset((str, int, float, bool, type(None)))


class Stored(Struct, frozen=True):
    """A noun that can be part of a shape: what fits its fields, in a mapping of their names, becomes one.

    Further keys are those of other versions, and left out, but where a noun refuses them. As part of a pydantic model
    it is read alike: what the model says of its own fields does not reach it.
    """

    further_keys: ClassVar[Literal["ignore", "forbid"]] = "ignore"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Tell pydantic, which does not know structs, what its fields must be."""
        from pydantic_core import core_schema

        ref = f"{cls.__module__}.{cls.__qualname__}"
        around = _DESCRIBED.get()
        if ref in around:
            # it holds nouns of its own kind
            return core_schema.definition_reference_schema(ref)
        inner = _DESCRIBED.set({*around, ref})
        try:
            hints = get_type_hints(cls, include_extras=True)
            parts = {
                field.name: core_schema.typed_dict_field(
                    handler.generate_schema(hints[field.name]), required=field.required
                )
                for field in fields(cls)
            }
        finally:
            _DESCRIBED.reset(inner)
        fitting = core_schema.typed_dict_schema(_strict(parts), extra_behavior=cls.further_keys)
        schema = core_schema.no_info_wrap_validator_function(cls._read, fitting, ref=ref)
        return core_schema.definitions_schema(core_schema.definition_reference_schema(ref), [schema])

    @classmethod
    def _read(cls, value: object, parts: Callable[[object], Mapping[str, Any]]) -> Self:
        return value if isinstance(value, cls) else cls(**parts(value))


def share_texts(noun: Struct, names: Iterable[str]) -> None:
    """Replace some texts of a noun that is being made by equal ones that are in memory already."""
    for name in names:
        if (text := getattr(noun, name)) is not None:
            force_setattr(noun, name, sys.intern(text))


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

    @cached_property
    def _validator(self) -> SchemaValidator:
        from pydantic import TypeAdapter
        from pydantic_core import SchemaValidator

        return SchemaValidator(_strict(TypeAdapter(self._kind).core_schema))


def _strict(schema: Any) -> Any:
    """Return the schema of a check that takes no text for a number, and nothing but true and false for either.

    It ends at the first entry that does not fit: a problem takes a thousand times as much memory as what it is of.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(map(_strict, schema))
    if not isinstance(schema, dict):
        return schema
    parts = {key: _strict(part) for key, part in schema.items()}
    if schema.get("type") in _MANY:
        parts["fail_fast"] = True
    return {**parts, "strict": True} if schema.get("type") in _READ_AS_THEY_STAND else parts


def as_dict(value: Struct) -> dict[str, Any]:
    """The fields of a noun, and of those within it: lists and tuples stay what they are, mappings become dicts."""
    return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is tuple:
        return tuple(map(_plain, value))
    if kind is list:
        return [*map(_plain, value)]
    if kind is dict or isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    return as_dict(value) if isinstance(value, Struct) else value


def problem(named: object, schema: str) -> str | None:
    """Return why a file cannot be read; None if it has the schema.

    Args:
        schema: the one that is read, with its number at the end: `raggate/run/1`.
    """
    return None if named == schema else f"schema is {quoted(named)}, and this raggate reads {schema!r}"
