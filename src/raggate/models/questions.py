"""What is asked of a golden set: every case in every mode that it is for, without holding all pairs."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from raggate.config.retrieval_modes import asked_in
from raggate.models.golden import Case

Question = tuple[Case, str]
"""A case and the mode that it is asked in."""


class Questions(Sequence[Question]):
    """Every case in every mode, by mode and then by case; a case that names modes only in those of them.

    Args:
        cases: the cases, which may lie on disk.
        modes: the modes.
    """

    def __init__(self, cases: Sequence[Case], modes: Sequence[str]) -> None:
        self._cases = cases
        self._modes = tuple(dict.fromkeys(modes))
        places = [array("I") for _ in self._modes]
        for place, case in enumerate(cases):
            for mode, own in zip(self._modes, places, strict=True):
                if asked_in(case.modes, mode):
                    own.append(place)
        everywhere = range(len(cases))
        # most golden sets name no modes
        self._places: list[Sequence[int]] = [everywhere if len(own) == len(cases) else own for own in places]
        self._ends = list(accumulate(map(len, places)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Question]:
        for mode, places in zip(self._modes, self._places, strict=True):
            yield from ((self._cases[place], mode) for place in places)

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Question]: ...
    def __getitem__(self, index: int | slice) -> Question | Sequence[Question]:
        """Give a question, or several."""
        position = range(len(self))[index]
        if isinstance(position, range):
            return [self[place] for place in position]
        number = bisect_right(self._ends, position)
        before = self._ends[number - 1] if number else 0
        return self._cases[self._places[number][position - before]], self._modes[number]
