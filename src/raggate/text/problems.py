"""What is wrong with one entry of a file, where that may be several things at once."""

from __future__ import annotations


class Problems(ValueError):
    """Several problems of one entry, a sentence each."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def problems_of(error: ValueError) -> tuple[str, ...]:
    """Give the problems that an error tells of."""
    return error.problems if isinstance(error, Problems) else (str(error),)
