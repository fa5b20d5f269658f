"""The scores of a scorecard by question, wherever they lie: of many, some twenty bytes each stay in memory. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from raggate.models.scorecard import CaseScore
from raggate.text import long_sequence
from raggate.text.keyed_sequence import Places

Key = tuple[str, str]
"""Mode and case id."""


def by_question(cases: Sequence[CaseScore]) -> Mapping[Key, CaseScore]:
    """Give scores by mode and case id. Of a long run each is made anew whenever it is looked at."""
    if len(cases) <= long_sequence.FEW:
        return {(case.mode, case.case_id): case for case in cases}
    return _ByQuestion(cases)


class _ByQuestion(Mapping[Key, CaseScore]):
    def __init__(self, cases: Sequence[CaseScore]) -> None:
        self._cases = cases
        self._next = 0
        self._places: Places | None = None

    def __getitem__(self, key: Key) -> CaseScore:
        if self._places is None:
            # both sides mostly have the same questions in one order
            if self._next < len(self._cases) and _key(case := self._cases[self._next]) == key:
                self._next = (self._next + 1) % len(self._cases)
                return case
            self._places = Places()
            for place, other in enumerate(self):
                self._places.add(hash(other), place)
        for place in self._places.of(hash(key)):
            if _key(case := self._cases[place]) == key:
                return case
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        return map(_key, self._cases)

    def __len__(self) -> int:
        return len(self._cases)


def _key(case: CaseScore) -> Key:
    return case.mode, case.case_id
