"""Scores of single questions as bytes and back, for runs that are too long for memory. They never leave the process."""

from __future__ import annotations

import marshal
from typing import Any

from raggate.models.metric_values import CompactValues, Values
from raggate.models.noun_packing import Noun
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.text.long_sequence import Packing

_SCORE, _ENTRY = Noun(CaseScore), Noun(ListEntry)
_VALUES, _ENTRIES, _ANSWERS = _SCORE.places("values", "entries", "answers")

# the names that questions have values for: most share theirs with all others, and none is ever forgotten
_NAMES: list[tuple[str, ...]] = []
_NUMBERS: dict[tuple[str, ...], int] = {}


def _values_out(values: Values) -> tuple[Any, ...]:
    if not isinstance(values, CompactValues):
        return (tuple(values.items()),)
    names = tuple(values.places)
    if (number := _NUMBERS.get(names)) is None:
        number = _NUMBERS[names] = len(_NAMES)
        _NAMES.append(names)
    return number, values.numbers.tobytes()


def _values_in(values: tuple[Any, ...]) -> Values:
    return CompactValues.of_bytes(_NAMES[values[0]], values[1]) if len(values) > 1 else dict(values[0])


def _score_out(score: CaseScore) -> list[Any]:
    values = list(_SCORE.values(score))
    values[_VALUES] = _values_out(score.values)
    values[_ENTRIES] = list(map(_ENTRY.values, score.entries))
    values[_ANSWERS] = list(map(_score_out, score.answers))
    return values


def _score_in(values: list[Any]) -> CaseScore:
    values[_VALUES] = _values_in(values[_VALUES])
    values[_ENTRIES] = tuple(map(_ENTRY.made, values[_ENTRIES]))
    values[_ANSWERS] = tuple(map(_score_in, values[_ANSWERS]))
    return _SCORE.made(values)


# what is read below this process wrote, into a file that only it has
def _pair_in(data: bytes) -> tuple[CaseScore, CaseScore]:
    old, new = marshal.loads(data)  # noqa: S302
    return _score_in(old), _score_in(new)


SCORES: Packing[CaseScore] = Packing(
    lambda score: marshal.dumps(_score_out(score)),
    lambda data: _score_in(marshal.loads(data)),  # noqa: S302
)
"""The scores of one question in one mode."""

PAIRS: Packing[tuple[CaseScore, CaseScore]] = Packing(
    lambda pair: marshal.dumps(tuple(map(_score_out, pair))),
    _pair_in,
)
"""Those of a question before and now."""
