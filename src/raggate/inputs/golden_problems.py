"""What is wrong with a golden set, line by line -> one error that lists the first of it."""

from __future__ import annotations

from raggate.errors import FileProblems, Problem

SHOWN_PROBLEMS = 10


class GoldenProblems:
    """The first problems of a golden set, and how many there are: each of millions of lines may have one.

    Attributes:
        count: how many.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: list[Problem] = []

    def add(self, problem: Problem) -> None:
        """Note one."""
        self.count += 1
        if self.count <= SHOWN_PROBLEMS:
            self._first.append(problem)

    def refuse(self, check: str) -> None:
        """Refuse the golden set, if there are any; `check` is what `raggate lint` calls them.

        Raises:
            FileProblems: listing up to ten of them.
        """
        if self.count:
            more = self.count - len(self._first)
            raise FileProblems(check, self._first, more=more, hint="docs/golden-set.md describes every key.")
