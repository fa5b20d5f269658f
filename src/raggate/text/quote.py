"""Foreign values inside a sentence of raggate's own: where one begins and ends is clear, and none is long.

This is wording. What makes a sentence harmless where it is shown is `escape`.
"""

from __future__ import annotations


def quoted(value: object, *, limit: int = 300) -> str:
    """Quote a value, as Python does: with at most `limit` characters between the quotes, an ellipsis included."""
    text = str(value)
    shown = repr(text[:limit])
    if len(text) <= limit and len(shown) <= limit + 2:
        return shown
    return f"{shown[0]}{cut(f'{shown[1:-1]}…', limit=limit)}{shown[0]}"


def cut(value: object, *, limit: int = 300) -> str:
    """Cut a value to `limit` characters, an ellipsis included, where raggate's own words follow it."""
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
