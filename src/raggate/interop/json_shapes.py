"""The shapes of other systems' JSON: a value is checked against a type, and not changed by it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from raggate.errors import UsageError


def check(adapter: TypeAdapter[Any], value: object, place: str) -> Any:
    """Check a value against a type, and give it back untouched.

    Raises:
        UsageError: naming the place, the key and what was expected.
    """
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{place}: {f'{key}: ' if key else ''}{first['msg']}") from None
    return value
