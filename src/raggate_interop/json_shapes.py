"""Other systems' JSON: lines with their places, and values that are checked against a type and not changed by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, TypeVar

from msgspec import Meta, MsgspecError, convert
from pydantic import Field, TypeAdapter, ValidationError

from raggate.base.errors import UsageError
from raggate.base.jsonio import parse

Name = Annotated[str, Field(strict=True, pattern=r"\S")]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Rank = Annotated[int, Field(strict=True, ge=1)]
Text = Annotated[str, Meta(pattern=r"\S")]
"""Text that is not blank, of a noun that `typed` makes."""
_Noun = TypeVar("_Noun")


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


def typed(kind: type[_Noun], value: object, place: str) -> _Noun:
    """Make a noun of a value, as its type says."""
    try:
        return convert(value, kind)
    except MsgspecError as error:
        raise UsageError(f"{place}: {error}") from None
