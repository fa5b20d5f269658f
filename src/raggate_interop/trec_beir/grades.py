"""Judgements: grades as they are written in, integers or a named mistake out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from raggate.errors import UsageError
from raggate.text.files import reading
from raggate.text.quote import quoted

MAX_GRADE = 1000
"""The largest grade, up or down: twice this power of two would no longer be a float."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")


class QueryGrades(NamedTuple):
    """The judgements of one query that stand together in a file: grade per document id, and their first line."""

    query_id: str
    grades: Mapping[str, int]
    line: int = 0


class Grades(dict[str, int]):
    """Grades by how they are written. A file has few different ones, so each is parsed once."""

    def __missing__(self, written: str) -> int:
        """Parse a grade.

        Raises:
            ValueError: when it is not an integer from -1000 to 1000.
        """
        if not _INTEGER.fullmatch(written) or abs(int(written)) > MAX_GRADE:
            raise ValueError(written)
        grade = int(written)
        if len(self) <= MAX_GRADE:
            self[written] = grade
        return grade


def open_binary(path: Path) -> BinaryIO:
    """Open a file, which may be a pipe, to read bytes.

    Raises:
        UsageError: when there is no such file, or it cannot be read.
    """
    with reading(path):
        return path.open("rb")


def bad_grade(place: str, written: str) -> UsageError:
    """Return the error for a grade that is none."""
    return UsageError(f"{place}: grade {quoted(written)}, expected an integer from {-MAX_GRADE} to {MAX_GRADE}")
