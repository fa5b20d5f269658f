"""Secrets -> every shape they may take in a text, and texts and streams of bytes without them."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote, quote_plus

from msgspec import Struct
from msgspec.structs import replace

from raggate.base import unicode

_GUARDED = frozenset({"environment", "headers", "inputs", "secret", "secrets", "token", "values"})

T = TypeVar("T")
SHORTEST = 6
"""Characters of the shortest value that is hidden: anything shorter would blacken innocent text."""
SHORTEST_VARIABLE = 8
"""Characters of the shortest value of a variable that is taken for a secret because of the variable's name."""
RUNNER_TOKENS = (
    "INPUT_GITHUB-TOKEN",
    "INPUT_GITHUB_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
)
"""Variables that hold a token of the runner's, which no API is ever given."""
_SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_ESCAPED_BYTE = re.compile(r"%[0-9A-F]{2}")
_HIDDEN = "***"
_ELLIPSIS = "…"


class Guarded:
    """A noun with secrets: where one is printed, as in a traceback, fields of such a name are not shown.

    A base beside `Struct`, before it.
    """

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __repr__(self) -> str:
        names = self.__struct_fields__
        values = ("..." if name.lstrip("_") in _GUARDED else repr(getattr(self, name)) for name in names)
        fields = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        return f"{type(self).__name__}({fields})"


def of_environment(environment: Mapping[str, str], names: Iterable[str] = ()) -> tuple[str, ...]:
    """The values that must be shown nowhere: the runner's tokens, and the variables of these names that hold one.

    A variable counts as a secret when its name says so (it contains TOKEN, KEY, SECRET, PASSWORD, PASSWD, CREDENTIAL
    or AUTH) and its value has at least `SHORTEST_VARIABLE` characters.
    """
    named = [name for name in names if _SECRET_NAME.search(name)]
    values = (environment.get(name, "").strip() for name in (*RUNNER_TOKENS, *named))
    return tuple(dict.fromkeys(value for value in values if len(value) >= SHORTEST_VARIABLE))


def forms(value: str) -> tuple[str, ...]:
    """The shapes of a secret, the longest first: raw, each line, base64, URL-encoded, quoted, as in a JSON string.

    Of base64 it is the part that is the same whatever stands around the secret, so that it is also found where a
    longer text was encoded. Shapes shorter than `SHORTEST` characters are left out, and a value as short has none.
    """
    if len(value) < SHORTEST:
        return ()
    shapes: set[str] = set()
    whole = {value, value.strip(), " ".join(value.split()), unicode.without(value)}
    for text in whole | {line.strip() for line in value.splitlines()}:
        if len(text) >= SHORTEST:
            # as Python writes it in single quotes where double ones stand beside it, and in those it chooses alone
            quotes = {repr(text)[1:-1], repr(f"{text}'\"")[1:-4]}
            as_json = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
            shapes |= {text, *_base64(text), *_url_encoded(text), *as_json, *quotes}
    return tuple(sorted((form for form in shapes if len(form) >= SHORTEST), key=lambda form: (-len(form), form)))


def redact(text: str, values: Iterable[str]) -> str:
    """Replace these values by `***` in any of their shapes."""
    shapes = _shapes(values)
    return re.sub("|".join(map(re.escape, shapes)), _HIDDEN, text) if shapes else text


def redact_cut(text: str, values: Collection[str]) -> str:
    """Replace these values by `***` in a message, and also the beginning of one that was cut off with an ellipsis.

    Characters that nobody sees are left out first: whoever shows the message does so too, and what they kept apart
    would be whole again.
    """
    shapes = _shapes(values)
    *cut_off, last = redact(unicode.without(text), values).split(_ELLIPSIS)
    return _ELLIPSIS.join([*(_without_beginning(part, shapes) for part in cut_off), last])


def _without_beginning(text: str, shapes: Iterable[str]) -> str:
    lengths = [n for shape in shapes for n in range(SHORTEST, len(shape)) if text.endswith(shape[:n])]
    return text[: -max(lengths)] + _HIDDEN if lengths else text


class Scrubber:
    """Replaces values by `***` in every text that a noun, a tuple or a mapping holds; the rest is left as it is."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = tuple(values)
        self._shapes = _shapes(self._values)

    def __call__(self, value: T) -> T:
        return self._clean(value) if self._shapes else value

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            seen = unicode.without(value)
            # to look is far cheaper than to replace, and there is hardly ever anything
            return redact(seen, self._values) if any(shape in seen for shape in self._shapes) else value
        if isinstance(value, tuple):
            return tuple(map(self._clean, value))
        if isinstance(value, dict):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        if isinstance(value, Struct):
            return replace(value, **{name: self._clean(getattr(value, name)) for name in value.__struct_fields__})
        return value


class Redactor:
    """Replaces values by `***` in a stream of bytes that is cut anywhere.

    What could be the beginning of a value is held back until the rest, or the end of the line, has come. Where there is
    something to hide, characters that nobody sees are left out: what they keep apart would be read as whole.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        shapes = [_as_bytes(shape) for shape in _shapes(values) if "\n" not in shape]
        self._pattern = re.compile(b"|".join(map(re.escape, shapes))) if shapes else None
        self._longest = max(map(len, shapes), default=0)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take a piece; give what can be shown by now."""
        if self._pattern is None:
            return data
        held = _seen(self._held + data)
        safe = max(held.rfind(b"\n") + 1, len(held) - self._longest + 1, 0)
        for match in self._pattern.finditer(held):
            if match.start() < safe < match.end():
                safe = match.start()
        self._held = held[safe:]
        return self._cleaned(held[:safe])

    def held(self) -> bytes:
        """Show what is held back, without giving it up."""
        return self._cleaned(self._held)

    def flush(self) -> bytes:
        """Return what was held back: nothing will follow it."""
        rest, self._held = self._held, b""
        return self._cleaned(rest)

    def _cleaned(self, data: bytes) -> bytes:
        return self._pattern.sub(_HIDDEN.encode(), data) if self._pattern else data


def _shapes(values: Iterable[str]) -> list[str]:
    return sorted({form for value in values for form in forms(value)}, key=len, reverse=True)


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # as the environment was decoded
    except UnicodeEncodeError:
        return _bytes(text)


def _seen(data: bytes) -> bytes:
    """Leave out what is not seen. Bytes that are no UTF-8 stay: they may be the half of a character."""
    if data.isascii():
        return data
    text = data.decode("utf-8", "surrogateescape")
    seen = (character for character in text if "\udc80" <= character <= "\udcff" or unicode.without(character))
    return "".join(seen).encode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _base64(text: str) -> set[str]:
    shapes = set()
    for before in range(3):
        data = bytes(before) + _bytes(text)
        # a character is six bits: those that share bits with what stands before or after are not the secret's alone
        kept = slice(math.ceil(before * 8 / 6), len(data) * 8 // 6)
        shapes |= {base64.b64encode(data).decode()[kept], base64.urlsafe_b64encode(data).decode()[kept]}
    return shapes


def _url_encoded(text: str) -> set[str]:
    shapes = {quote(_bytes(text), safe=""), quote(_bytes(text)), quote_plus(_bytes(text))}
    return shapes | {_ESCAPED_BYTE.sub(lambda match: match[0].lower(), form) for form in shapes}
