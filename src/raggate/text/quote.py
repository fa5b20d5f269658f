"""Foreign values inside a sentence of raggate's own: each on one line, none long, and clear where it begins and ends.

This is wording. What makes a sentence harmless where it is shown is `escape`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SEEN = 4
"""Times the limit: so much of a value is looked at, as most of it may be white space."""

# up to the last `@` of the host, as URLs are read; a password whose slashes are not escaped is no port
_USERINFO = re.compile(r"(?<=://)(?:[^\s/?#]{0,500}@|[^\s/?#:@]{0,200}:(?!\d{1,5}(?:[/?#]|$))\S{0,500}@)")


def quoted(value: object, *, limit: int = 300) -> str:
    """Quote a value, as Python does: at most `limit` characters between the quotes, an ellipsis included."""
    text = cut(value, limit=limit)
    literal = repr(text)
    if len(literal) <= limit + 2:
        return literal
    return f"{literal[0]}{cut(literal[1:-1], limit=limit)}{literal[0]}"


def cut(value: object, *, limit: int = 300) -> str:
    """Put a value on one line of at most `limit` characters, an ellipsis included, URLs without name and password."""
    whole = str(value)
    text = " ".join(without_userinfo(whole[: limit * _SEEN]).split())
    if len(text) <= limit and len(whole) <= limit * _SEEN:
        return text
    return text[: limit - 1].rstrip() + "…"


def without_userinfo(text: str) -> str:
    """Replace user name and password of the URLs in a text by `***`."""
    return _USERINFO.sub("***@", text) if "://" in text and "@" in text else text


def listed(names: Sequence[str], most: int = 20) -> str:
    """Write names one after the other, and how many there are beyond so many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def enumerated(names: Sequence[str]) -> str:
    """Write names one after the other, with an "and" before the last."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
