"""The questions of a golden set in the order in which they are drawn: those that must pass, then all others. Pure.

The order follows from names of the trusted side alone. Nothing turns green by it, so nobody gains from knowing it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from raggate.config.retrieval_modes import asked_in
from raggate.models.baseline import Baseline
from raggate.models.golden import Case
from raggate.models.questions import Question
from raggate.text.lots import lot

_OTHERS = 1 << 63
"""The least key of a case that need not pass."""


def seed_of(golden_hash: str, baseline: Baseline, against: str | None) -> str:
    """Give what the order is drawn by: the golden set, the run of the baseline, and the commit that both are of."""
    return "|".join((golden_hash, baseline.scorecard.run_id, str(baseline.provenance.get("measured")), against or ""))


def _key(seed: str, case: Case) -> int:
    drawn = int.from_bytes(lot(seed, case.id)[:8]) >> 1
    return drawn if case.must_pass else drawn + _OTHERS


class Drawn(Sequence[Question]):
    """Every case in all of its modes, case by case.

    Args:
        cases: the golden set, whose cases may lie on disk.
        modes: the modes that are asked.
        seed: what the order is drawn by.

    Attributes:
        first: how many questions come first, because they must pass; they are in the order that they are drawn in too.
    """

    def __init__(self, cases: Sequence[Case], modes: Sequence[str], seed: str) -> None:
        self._cases = cases
        self._modes = tuple(dict.fromkeys(modes))
        keys = array("Q", (_key(seed, case) for case in cases))
        self._places = array("I", sorted(range(len(keys)), key=keys.__getitem__))
        counts = array("I", (len(self._of(place)) for place in self._places))
        self._ends = array("I", accumulate(counts))
        must = sum(key < _OTHERS for key in keys)
        self.first = self._ends[must - 1] if must else 0

    def _of(self, place: int) -> list[str]:
        case = self._cases[place]
        return [mode for mode in self._modes if asked_in(case.modes, mode)]

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Question]:
        return map(self._at, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Question]: ...
    def __getitem__(self, index: int | slice) -> Question | Sequence[Question]:
        """Give a question, or several."""
        position = range(len(self))[index]
        return self._at(position) if isinstance(position, int) else [*map(self._at, position)]

    def _at(self, position: int) -> Question:
        number = bisect_right(self._ends, position)
        before = self._ends[number - 1] if number else 0
        place = self._places[number]
        return self._cases[place], self._of(place)[position - before]

    def ends_a_case(self, position: int) -> bool:
        """Say whether a question is the last one of its case."""
        return position + 1 == self._ends[bisect_right(self._ends, position)]
