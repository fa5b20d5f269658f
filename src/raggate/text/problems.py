"""What is wrong with one entry of a file: several things at once, or the first of them."""

from __future__ import annotations

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
    """Give the problems that an error tells of."""
    return error.problems if isinstance(error, Problems) else (str(error),)


def first_problem(error: ValidationError, *parents: str, whole: str = "the line") -> str:
    """Name the first place that is wrong, and what was expected there.

    Args:
        error: of what is not as its model wants it.
        parents: keys that it stands below.
        whole: what the place is called where it is no key.
    """
    first = error.errors(include_url=False)[0]
    where = ".".join([*parents, *map(str, first["loc"])])
    return f"{cut(where) or whole}: {first['msg']}"
