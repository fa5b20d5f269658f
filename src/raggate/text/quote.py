"""Foreign values inside a sentence of raggate's own: each on one line, none long, and clear where it begins and ends.

This is wording. What makes a sentence harmless where it is shown is `escape`.
"""

from __future__ import annotations

from collections.abc import Sequence

_SEEN = 4
"""Times the limit: so much of a value is looked at, as most of it may be white space."""


def quoted(value: object, *, limit: int = 300) -> str:
    """Quote a value, as Python does: at most `limit` characters between the quotes, an ellipsis included."""
    text = cut(value, limit=limit)
    literal = repr(text)
    if len(literal) <= limit + 2:
        return literal
    return f"{literal[0]}{cut(literal[1:-1], limit=limit)}{literal[0]}"


def cut(value: object, *, limit: int = 300) -> str:
    """Put a value on one line of at most `limit` characters, an ellipsis included."""
    whole = str(value)
    text = " ".join(whole[: limit * _SEEN].split())
    if len(text) <= limit and len(whole) <= limit * _SEEN:
        return text
    return text[: limit - 1].rstrip() + "…"


def enumerated(names: Sequence[str]) -> str:
    """Write names one after the other, with an "and" before the last."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
