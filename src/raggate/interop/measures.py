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
from itertools import compress, count
from math import log2

from raggate.errors import UsageError

CUTOFFS = (1, 3, 5, 10)
MAX_CUTOFF = 100_000
AT_CUTOFF = ("hit", "recall", "precision", "mrr", "ndcg", "ndcg_exp")
_PAST = 1 << 60  # a rank behind every list
_NO_HIT = (0.0,) * len(AT_CUTOFF)


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
        self._ideal = lru_cache(maxsize=4096)(self._find_ideal)

    def of(self, doc_ids: Sequence[str], grades: Mapping[str, int]) -> tuple[list[float], list[int]] | None:
        """Measure a list without repetition against judgements.

        Returns:
            The values in the order of `names`, and how many of the first k documents are judged, per cut-off; None
            where none of the judged documents is relevant.
        """
        relevant, ideals = self._ideal(tuple(sorted(grades.values(), reverse=True)))
        if not relevant:
            return None
        # ranks of the judged documents; this line is most of the work, so it is one that runs without a loop
        rest = compress(count(1), map(grades.__contains__, doc_ids))
        rank = next(rest, _PAST)
        discounts = self._discounts
        values: list[float] = []
        judged_counts: list[int] = []
        seen = hits = 0
        reciprocal = gain = exponential = precisions = 0.0
        for k, (ideal, ideal_exponential) in zip(self.cutoffs, ideals, strict=True):
            while rank <= k:
                seen += 1
                grade = grades[doc_ids[rank - 1]]
                if grade > 0:
                    hits += 1
                    reciprocal = reciprocal or 1 / rank
                    precisions += hits / rank
                    discount = discounts[rank]
                    gain += grade * discount
                    exponential += (2**grade - 1) * discount
                rank = next(rest, _PAST)
            judged_counts.append(seen)
            if hits:
                values += (1.0, hits / relevant, hits / k, reciprocal, gain / ideal, exponential / ideal_exponential)
            else:
                values += _NO_HIT
        while rank < _PAST:
            if grades[doc_ids[rank - 1]] > 0:
                hits += 1
                precisions += hits / rank
            rank = next(rest, _PAST)
        values.append(precisions / relevant)
        return values, judged_counts

    def _find_ideal(self, grades: tuple[int, ...]) -> tuple[int, list[tuple[float, float]]]:
        """Count the relevant of grades in descending order, and give both gains of the ideal list per cut-off."""
        gains = [grade for grade in grades if grade > 0]
        ideals = []
        for k in self.cutoffs:
            # summed in the order in which a list is, so that an ideal list has exactly 1
            linear = exponential = 0.0
            for grade, discount in zip(gains[:k], self._discounts[1:], strict=False):
                linear += grade * discount
                exponential += (2**grade - 1) * discount
            ideals.append((linear, exponential))
        return len(gains), ideals
