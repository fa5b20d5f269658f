"""The runner's variables and its event file -> values of the shapes that GitHub gives them, each named in errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from raggate.errors import UsageError
from raggate.text.dates import stamp
from raggate.text.jsonio import parse_object
from raggate.text.quote import cut

MOST_EVENT_BYTES = 32 << 20
"""GitHub sends no event larger than 25 MB."""

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
_LONGEST = 1024


class Part(Struct, frozen=True):
    """The variables, or an object of the event file and the keys that lead to it. Null is as good as missing.

    Every method raises UsageError for a value of another shape, naming the key and what was expected.
    """

    values: Mapping[str, Any]
    keys: tuple[str, ...] = ()

    def where(self, key: str) -> str:
        """Name a key for messages, with those that lead to it."""
        return cut(".".join((*self.keys, key)))

    def part(self, key: str, *, optional: bool = False) -> Part:
        """Give an object; an empty one where it may be missing."""
        value = self.values.get(key)
        if value is None and optional:
            value = {}
        if not isinstance(value, dict):
            raise _wrong(self.where(key), "an object", value)
        return Part(value, (*self.keys, key))

    def text(self, key: str) -> str:
        """Give a line of foreign text; empty for none."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > _LONGEST or "\n" in value or "\r" in value or "\0" in value:
            raise _wrong(self.where(key), f"one line of at most {_LONGEST} characters", value)
        return value

    def moment(self, key: str) -> str:
        """Give a point in time in UTC, to the second; empty for none."""
        if self.values.get(key) is None:
            return ""
        text = self.matched(key, _MOMENT, "a time such as 2026-01-01T00:00:00Z")
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise _wrong(self.where(key), "a time such as 2026-01-01T00:00:00Z", text) from None
        return stamp(moment)

    def matched(self, key: str, pattern: re.Pattern[str], expected: str) -> str:
        """Give a text of a shape."""
        value = self.values.get(key)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _wrong(self.where(key), expected, value)
        return value

    def url(self, key: str) -> str:
        """Give a URL without a slash at its end; empty for none."""
        text = self.values.get(key) or ""
        if text and not _is_url(text):
            raise _wrong(self.where(key), "a URL with http or https", text)
        return text.rstrip("/")

    def commit(self, key: str) -> str:
        """Give the hash of a commit."""
        return self.matched(key, _SHA, "the hash of a commit").lower()

    def count(self, key: str) -> int:
        """Give a number from 1."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _wrong(self.where(key), "a number from 1", value)
        return value

    def input_text(self, key: str) -> str:
        """Give the input of a dispatch as text."""
        value = self.values[key]
        if isinstance(value, bool):
            return str(value).lower()
        if value is not None and not isinstance(value, str | int | float):
            raise _wrong(self.where(key), "text", value)
        return "" if value is None else str(value)


def read(path: Path) -> Part:
    """Read the event file.

    Raises:
        UsageError: when there is none, it is too large, or it is no JSON object.
    """
    where = f"the event file {cut(path)} (GITHUB_EVENT_PATH)"
    try:
        if not path.is_file():
            raise UsageError(f"{where} is no file")
        with path.open("rb") as file:
            data = file.read(MOST_EVENT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{where} cannot be read: {error}") from error
    if len(data) > MOST_EVENT_BYTES:
        raise UsageError(f"{where} is larger than {MOST_EVENT_BYTES} bytes")
    return Part(parse_object(data, where))


def _is_url(text: str) -> bool:
    if re.search(r"[@?#\s\x00-\x20]", text) or not text.isascii():
        return False
    try:
        url = urlsplit(text)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def _wrong(where: str, expected: str, value: object) -> UsageError:
    actual = "nothing" if value is None else cut(repr(value), limit=80)
    source = "" if where.startswith("GITHUB_") else "the event's "
    return UsageError(f"{source}{where}: expected {expected}; found {actual}")
