"""A word that is not known -> the known one that is most like it: "did you mean …?"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from raggate.text.quote import cut

if TYPE_CHECKING:
    from pydantic import ValidationError


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
    return f"; did you mean {like!r}?" if like is not None else ""


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


def first_problem(
    error: ValidationError, *parents: str, whole: str = "the line", keys: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Name the first place that is wrong, and what was expected there.

    Args:
        keys: what fields are called in the file, where that is another word.
    """
    first = error.errors(include_url=False)[0]
    own = (keys.get(part, part) if isinstance(part, str) else str(part) for part in first["loc"])
    where = ".".join([*parents, *own])
    return f"{cut(where) or whole}: {first['msg']}"
