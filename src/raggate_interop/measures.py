"""The metrics of one query: a ranked list and its judgements in, values at fixed cut-offs out.

Per query and cut-off k, with R documents of grade 1 or more judged for the query:

    hit        1 if a relevant document stands in the first k places
    recall     relevant documents in the first k places / R
    precision  the same / k, also for a list shorter than k
    mrr        1 / rank of the first relevant document if that rank <= k, else 0
    ndcg       sum of grade / log2(rank + 1) over rank <= k, divided by that of all judgements in descending order
    ndcg_exp   the same with 2^grade - 1 in place of grade
    judged     judged documents among the first k places / places filled; null for an empty list. unjudged = 1 - judged
    map        mean over R of the precision at the rank of each relevant document, over the whole list

Negative grades count as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import log2

from msgspec import Struct

from raggate.errors import UsageError

CUTOFFS = (1, 3, 5, 10)
MAX_CUTOFF = 100_000
AT_CUTOFF = ("hit", "recall", "precision", "mrr", "ndcg", "ndcg_exp")
_END = (1 << 60, 0)  # a rank behind every list
_NO_HIT = (0.0,) * len(AT_CUTOFF)
_FEW = 256
"""Lists of queries with at most so many judgements often look alike up to the last cut-off."""


class Top(Struct, frozen=True, eq=False, kw_only=True):
    """What a list is worth up to the last cut-off. Lists that look alike there mostly share one, known by identity.

    Attributes:
        relevant: how many documents are judged relevant for the query, wherever they stand.
        places: how many places are filled, at most as many as the last cut-off.
        values: the values in the order of `Measures.names`, without `map`.
        judged: the judged share of the places filled, per cut-off; empty for an empty list.
    """

    relevant: int
    places: int
    values: list[float]
    judged: list[float]


class Measures:
    """The metrics of one query at fixed cut-offs."""

    def __init__(self, cutoffs: Sequence[int]) -> None:
        """Prepare for cut-offs.

        Raises:
            UsageError: for no cut-offs, or one that is not from 1 to 100,000.
        """
        self.cutoffs = tuple(sorted(set(cutoffs)))
        if not self.cutoffs or self.cutoffs[0] < 1 or self.cutoffs[-1] > MAX_CUTOFF:
            raise UsageError(f"cut-offs {list(self.cutoffs)}, expected numbers from 1 to {MAX_CUTOFF}")
        self.names = (*(f"{name}_at_{k}" for k in self.cutoffs for name in AT_CUTOFF), "map")
        self._discounts = [0.0, *(1 / log2(rank + 1) for rank in range(1, self.cutoffs[-1] + 1))]
        self._ideal = lru_cache(maxsize=256)(self._find_ideal)
        self._shared_top = lru_cache(maxsize=4096)(self._top)

    def of(self, ranks: Mapping[str, int], grades: Mapping[str, int]) -> tuple[Top, float]:
        """Measure a list without repetition against judgements.

        Returns:
            What it is worth up to the last cut-off, and `map`, which is 0 where no judged document is relevant.
        """
        # in the order of the list, unless going through the judgements is so much shorter that sorting them pays
        through, other = (grades, ranks) if len(grades) * 4 < len(ranks) else (ranks, grades)
        judged = [(ranks[doc_id], grades[doc_id]) for doc_id in filter(other.__contains__, through)]
        judged.sort()
        last = self.cutoffs[-1]
        shown = tuple([place for place in judged if place[0] <= last])
        measure = self._shared_top if len(grades) <= _FEW else self._top
        top = measure(tuple(sorted(grades.values(), reverse=True)), shown, min(len(ranks), last))
        hits, precisions = 0, 0.0
        for rank, grade in judged:
            if grade > 0:
                hits += 1
                precisions += hits / rank
        return top, precisions / (top.relevant or 1)

    def _top(self, grades: tuple[int, ...], judged: tuple[tuple[int, int], ...], places: int) -> Top:
        """Measure the first places of a list.

        Args:
            grades: all grades of the query in descending order.
            judged: rank and grade of the judged documents up to the last cut-off, in the order of their ranks.
            places: how many places up to there are filled.
        """
        relevant = sum(grade > 0 for grade in grades)
        rest = iter(judged)
        rank, grade = next(rest, _END)
        discounts = self._discounts
        values: list[float] = []
        shares: list[float] = []
        seen = hits = 0
        reciprocal = gain = exponential = 0.0
        for k, (ideal, ideal_exponential) in zip(self.cutoffs, self._ideal(grades[: self.cutoffs[-1]]), strict=True):
            while rank <= k:
                seen += 1
                if grade > 0:
                    hits += 1
                    reciprocal = reciprocal or 1 / rank
                    discount = discounts[rank]
                    gain += grade * discount
                    exponential += (2**grade - 1) * discount
                rank, grade = next(rest, _END)
            if places:
                shares.append(seen / min(k, places))
            if hits:
                values += (1.0, hits / relevant, hits / k, reciprocal, gain / ideal, exponential / ideal_exponential)
            else:
                values += _NO_HIT
        return Top(relevant=relevant, places=places, values=values, judged=shares)

    def _find_ideal(self, grades: tuple[int, ...]) -> list[tuple[float, float]]:
        """Return both gains of the ideal list per cut-off, of the highest grades in descending order."""
        gains = [grade for grade in grades if grade > 0]
        ideals = []
        for k in self.cutoffs:
            # summed in the order in which a list is, so that an ideal list has exactly 1
            linear = exponential = 0.0
            for grade, discount in zip(gains[:k], self._discounts[1:], strict=False):
                linear += grade * discount
                exponential += (2**grade - 1) * discount
            ideals.append((linear, exponential))
        return ideals
