"""Foreign values inside a sentence of raggate's own: each on one line, none long, and clear where it begins and ends.

This is wording. What makes a sentence harmless where it is shown is `escape`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import islice

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


MAX_LENGTH = 300
MAX_KNOWN = 5_000
_LIKE = 0.6


def nearest(wanted: str, candidates: Iterable[str], *, cutoff: float = _LIKE) -> str | None:
    """Return the known word that is most like the wanted one, if any is.

    Comparing takes the product of the lengths, so a word of more than `MAX_LENGTH` characters is like no other, and
    only the first `MAX_KNOWN` words are looked at.
    """
    if len(wanted) > MAX_LENGTH:
        return None
    short = [word for word in islice(candidates, MAX_KNOWN) if len(word) <= MAX_LENGTH]
    return next(iter(difflib.get_close_matches(wanted, short, n=1, cutoff=cutoff)), None)


def suggestion(wanted: str, candidates: Iterable[str]) -> str:
    """Write the end of a sentence that suggests the known word that is most like the wanted one; empty for none."""
    like = nearest(wanted, candidates)
    return f". Did you mean {like!r}?" if like is not None else ""


def nearest_few(wanted: str, candidates: Iterable[str]) -> list[str]:
    """Return the three known words that are most like the wanted one, most alike first; none where none is like it."""
    short = [word for word in islice(candidates, MAX_KNOWN) if len(word) <= MAX_LENGTH]
    return difflib.get_close_matches(wanted[:MAX_LENGTH], short, cutoff=_LIKE)


class Problems(ValueError):
    """Several problems of one entry, a sentence each."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def problems_of(error: ValueError) -> tuple[str, ...]:
    """Return the problems that an error tells of."""
    return error.problems if isinstance(error, Problems) else (str(error),)


def first_problem(error: Exception, *parents: str, whole: str = "the line") -> str:
    """Name the first place that is wrong, and what was expected there; of an error of pydantic or msgspec."""
    if hasattr(error, "errors"):
        first = error.errors(include_url=False)[0]
        place, problem = ".".join(map(str, first["loc"])), first["msg"]
    else:
        problem, _, path = str(error).partition(" - at `$")
        place = path.strip("`.")
    where = ".".join(filter(None, (*parents, place)))
    return f"{cut(where) or whole}: {cut(problem)}"
