"""What is wrong with one entry of a file: several things at once, or the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from raggate.text.quote import cut

if TYPE_CHECKING:
    from pydantic import ValidationError


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
