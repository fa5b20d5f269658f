"""What a judge's server answers: JSON that may hold anything, read value by value."""

from __future__ import annotations

from typing import Any

from raggate.models.judging import MOST_TOKENS, NotJudged
from raggate.text.jsonio import fields, loads


def answer_of(body: bytes) -> dict[str, Any] | NotJudged:
    """Return the object that a body holds, an empty one for any other JSON; or say that it is no JSON."""
    try:
        return fields(loads(body))
    except ValueError as error:
        return NotJudged(reason="invalid_reply", detail=f"the server's answer is not JSON: {error}")


def text_of(value: object) -> str:
    """Return a text; an empty one for what is none."""
    return value if isinstance(value, str) else ""


def tokens_of(value: object) -> int | None:
    """Return a count of tokens that a server reports; None for anything else, also 0: no prompt or reply has none."""
    return value if type(value) is int and 0 < value <= MOST_TOKENS else None
