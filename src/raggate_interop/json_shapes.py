"""Other systems' JSON: lines with their places, and values that are checked against a type and not changed by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from raggate.base.errors import UsageError
from raggate.base.jsonio import parse
from raggate.base.quote import quoted

Name = Annotated[str, Field(strict=True, pattern=r"\S")]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Rank = Annotated[int, Field(strict=True, ge=1)]


def json_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, Any]]:
    """Parse lines of JSON, each with its `file:line`. Blank lines and a byte order mark are skipped."""
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield f"{name}:{number}", parse(text, f"{name}:{number}")


def check(adapter: TypeAdapter[Any], value: object, place: str) -> Any:
    """Check a value against a type, and give it back untouched."""
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{place}: {f'{key}: ' if key else ''}{first['msg']}") from None
    return value


def check_keys(value: Any, keys: Sequence[str], place: str, *, optional: Collection[str] = ()) -> dict[str, Any]:
    """Check that a value is an object of these keys, and give it back."""
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected an object with {', '.join(keys)}")
    unknown = next((key for key in value if key not in keys), None)
    if unknown is not None:
        raise UsageError(f"{place}: unknown key {quoted(unknown)}", hint=f"Known are {', '.join(keys)}.")
    missing = next((key for key in keys if key not in value and key not in optional), None)
    if missing is not None:
        raise UsageError(f"{place}: key {missing} is missing")
    return value
