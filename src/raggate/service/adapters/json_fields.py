"""Fields of an API's JSON by type: each is what it should be, or refused with its place and what stands there."""

from __future__ import annotations

from typing import Any, NoReturn

from raggate.text.field_paths import ABSENT, joined, kind_of
from raggate.text.jsonio import loads
from raggate.text.quote import quoted


def parsed(body: bytes, before: str = "") -> Any:
    """Parse a body; `before` begins the message.

    Raises:
        ValueError: when it is not JSON, with how it begins. Untrusted text.
    """
    try:
        return loads(body)
    except ValueError as error:
        beginning = quoted(body[:400].decode("utf-8", "replace"), limit=60)
        raise ValueError(f"{before}expected JSON, found {beginning}: {error}") from None


def mapping(raw: Any, where: str) -> dict[str, Any]:
    """Take a mapping; a ValueError when it is none."""
    if type(raw) is not dict:
        refuse(where, "a mapping", raw)
    return raw


def entries(raw: Any, where: str, limit: int) -> list[Any]:
    """Take a list of at most `limit` entries.

    Raises:
        ValueError: when it is none, or longer.
    """
    if type(raw) is not list:
        refuse(where, "a list", raw)
    items: list[Any] = raw
    if len(items) > limit:
        raise ValueError(f"{where}: expected at most {limit} entries, found {len(items)}")
    return items


def required_text(item: dict[str, Any], name: str, where: str = "") -> str:
    """Take a text from a mapping that stands at `where`.

    Raises:
        ValueError: when it is none, or not there.
    """
    value = item.get(name, ABSENT)
    if type(value) is not str:
        refuse(joined(where, name), "text", value)
    return value


def optional_text(item: dict[str, Any], name: str, where: str = "") -> str | None:
    """Take a text that may be missing or null.

    Raises:
        ValueError: when it is anything else.
    """
    return None if item.get(name) is None else required_text(item, name, where)


def refuse(where: str, expected: str, value: Any) -> NoReturn:
    """Raise a ValueError that says what was expected and what stands there."""
    raise ValueError(f"{where}: expected {expected}, found {'a mapping' if type(value) is dict else kind_of(value)}")
