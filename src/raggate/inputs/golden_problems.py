"""What is wrong with a golden set, line by line -> one error that lists the first of it."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.errors import FileProblems, Problem

SHOWN_PROBLEMS = 10


def refuse(check: str, problems: Sequence[Problem]) -> None:
    """Refuse a golden set with problems; `check` is what `raggate lint` calls them.

    Raises:
        FileProblems: listing up to ten of them.
    """
    if problems:
        more = max(len(problems) - SHOWN_PROBLEMS, 0)
        hint = "docs/golden-set.md describes every key."
        raise FileProblems(check, problems[:SHOWN_PROBLEMS], more=more, hint=hint)
