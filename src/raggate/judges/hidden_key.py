"""A judge's key in what its server says, in the open or spelt with escapes of JSON -> the same without it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from raggate.models.judging import NotJudged, Reply
from raggate.text.redact import Scrubber, redact_cut

_ESCAPE = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|(["\\/bfnrt]))')


class KeyScrubber:
    """Hides one key; an empty one, of a server that needs none, is nowhere."""

    def __init__(self, key: str = "") -> None:
        self._keys = [key] if key else []
        self._scrub = Scrubber(self._keys)

    def text(self, text: str) -> str:
        """Give a foreign text without the key. It must be whole: of a key that was cut, the beginning is not seen."""
        shown = self._scrub(text)
        decoded = _decoded(shown)
        clean = self._scrub(decoded)
        return shown if clean == decoded else clean

    def outcome(self, outcome: Reply | NotJudged) -> Reply | NotJudged:
        """Give what came of a request without the key.

        A reply that spells it with escapes is none: whoever reads its JSON would have the key.
        """
        if not self._keys:
            return outcome
        if isinstance(outcome, NotJudged):
            return replace(outcome, detail=redact_cut(outcome.detail, self._keys))
        clean = self._scrub(outcome)
        decoded = _decoded(clean.text)
        if self._scrub(decoded) != decoded:
            return NotJudged(
                reason="invalid_reply", detail="the reply contains the judge's own key, spelt with escapes"
            )
        return clean


def _decoded(text: str) -> str:
    """Resolve the escapes of JSON, wherever they stand."""
    if "\\" not in text:
        return text
    characters = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else _plain(escape[2]), text)
    return characters.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(letter: str) -> str:
    return {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(letter, letter)
