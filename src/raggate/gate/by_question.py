"""The scores of a scorecard by question, wherever they lie: of many, two numbers each stay in memory. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from raggate.models.scorecard import CaseScore
from raggate.text import long_sequence

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
        self._hashes = array("q")
        self._places = array("I")

    def __getitem__(self, key: Key) -> CaseScore:
        if not self._hashes:
            # both sides mostly have the same questions in one order
            if self._next < len(self._cases) and _key(case := self._cases[self._next]) == key:
                self._next = (self._next + 1) % len(self._cases)
                return case
            self._sort()
        at = bisect_left(self._hashes, hash(key))
        while at < len(self._hashes) and self._hashes[at] == hash(key):
            if _key(case := self._cases[self._places[at]]) == key:
                return case
            at += 1
        raise KeyError(key)

    def _sort(self) -> None:
        hashes = array("q", map(hash, self))
        self._places = array("I", sorted(range(len(hashes)), key=hashes.__getitem__))
        self._hashes = array("q", map(hashes.__getitem__, self._places))

    def __iter__(self) -> Iterator[Key]:
        return map(_key, self._cases)

    def __len__(self) -> int:
        return len(self._cases)


def _key(case: CaseScore) -> Key:
    return case.mode, case.case_id
