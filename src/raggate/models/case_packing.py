"""Questions as bytes and back, for golden sets that are too long for memory. The bytes never leave the process."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from raggate.models.golden import Case, Support
from raggate.models.noun_packing import Noun
from raggate.text.keyed_sequence import KeyedSequence
from raggate.text.long_sequence import Packing

_CASE, _SUPPORT = Noun(Case), Noun(Support)
_GOLD, _WRONG = _CASE.places("gold_supports", "not_relevant")


def case_values(case: Case) -> list[Any]:
    """Give all that a case holds as values that `marshal` writes."""
    values = list(_CASE.values(case))
    values[_GOLD] = list(map(_SUPPORT.values, case.gold_supports))
    values[_WRONG] = list(map(_SUPPORT.values, case.not_relevant))
    return values


def case_of(values: list[Any]) -> Case:
    """Make the case of such values, which are used up."""
    values[_GOLD] = tuple(map(_SUPPORT.made, values[_GOLD]))
    values[_WRONG] = tuple(map(_SUPPORT.made, values[_WRONG]))
    return _CASE.made(values)


CASES: Packing[Case] = Packing(
    lambda case: marshal.dumps(case_values(case)),
    lambda data: case_of(marshal.loads(data)),  # noqa: S302 - what this process wrote, into a file that only it has
)
"""A question with all its labels."""


def by_id(cases: Sequence[Case]) -> KeyedSequence[Case]:
    """Give cases, which may lie on disk already, so that they can be found by their ids."""
    return cases if isinstance(cases, KeyedSequence) else KeyedSequence(CASES, attrgetter("id"), cases)


def with_id(cases: Sequence[Case], case_id: str) -> Case | None:
    """Give the case of an id, None where there is none. To look up many, see `by_id`."""
    if isinstance(cases, KeyedSequence):
        known = cases.find(case_id)
        return None if known is None else known[1]
    return next((case for case in cases if case.id == case_id), None)
