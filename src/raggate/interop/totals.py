"""Means over queries: their values one after the other in, sums without an error of rounding out.

A sum is that of the values themselves, rounded once: neither the order of the queries shows in it, nor in how many
parts they were summed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from math import fsum
from operator import add, truediv
from typing import Any, NamedTuple

from raggate.errors import UsageError
from raggate.interop.measures import Measures
from raggate.interop.trec_beir.grades import QueryGrades
from raggate.interop.trec_beir.rankings import Ranking

_BATCH = 500
"""So many queries are summed in one go."""


class Mean(NamedTuple):
    """A mean over n queries; `value` is None when the metric applies to none."""

    value: float | None
    n: int


@dataclass(slots=True)
class Counts:
    """What the means cover, and what was odd about the lists.

    Attributes:
        queries: judged queries with a relevant document: the denominator of every mean.
        missing: those of them without a result list; they count 0.
        empty: those of them whose list is empty; they count 0.
        extra: lists of queries without judgements; ignored.
        without_relevant: judged queries without a relevant document; left out.
        shallow: lists with fewer documents than the largest cut-off.
        repeated: entries left out because their document stands further up in the list.
        tied: lists where documents of equal score stand on both sides of a cut-off.
        rank_disagrees: lists whose rank column has another order than their scores.
    """

    queries: int = 0
    missing: int = 0
    empty: int = 0
    extra: int = 0
    without_relevant: int = 0
    shallow: int = 0
    repeated: int = 0
    tied: int = 0
    rank_disagrees: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result: means by metric name such as `ndcg_at_10`, and values per query if they were asked for."""

    cutoffs: tuple[int, ...]
    means: dict[str, Mean]
    counts: Counts
    per_query: dict[str, dict[str, float | None]] = field(default_factory=dict)


class _Sums:
    """Sums of columns, each kept as a few floats of which it is the exact sum."""

    def __init__(self, width: int) -> None:
        self.terms: list[list[float]] = [[] for _ in range(width)]
        self._rows: list[Sequence[float]] = []

    def add(self, row: Sequence[float]) -> None:
        """Add a value to each column."""
        self._rows.append(row)
        if len(self._rows) == _BATCH:
            self.settle()

    def settle(self) -> None:
        """Add what waits to the terms."""
        for terms, column in zip(self.terms, zip(*self._rows, strict=True), strict=False):
            terms[:] = _exact([*terms, *column])
        self._rows.clear()

    def values(self) -> list[float]:
        """Give the sum of each column."""
        self.settle()
        return list(map(fsum, self.terms))


def _exact(values: list[float]) -> list[float]:
    """Give a few floats that have exactly the sum of many."""
    terms = []
    while rounded := fsum(values):
        terms.append(rounded)
        values.append(-rounded)
    return terms


class Totals:
    """Sums over queries, and the values of each if they are to be kept.

    Attributes:
        counts: what the means are to cover, and what was odd about the lists.
        per_query: the values of each query, if they are kept.
    """

    def __init__(self, measures: Measures, *, per_query: bool = False) -> None:
        """Begin with nothing."""
        self.counts = Counts()
        self.per_query: dict[str, dict[str, float | None]] = {}
        self._keeps = per_query
        self._measures = measures
        self._sums = _Sums(len(measures.names))
        self._judged = _Sums(len(measures.cutoffs))
        self._filled = 0

    def add(self, ranking: Ranking, grades: Mapping[str, int]) -> None:
        """Add a list; what cannot be relevant is not scored."""
        measured = self._measures.of(ranking.doc_ids, grades)
        if measured is None:
            self.counts.without_relevant += 1
            return
        values, seen = measured
        self._sums.add(values)
        length = len(ranking.doc_ids)
        shares: list[float] = []
        if length:
            self._filled += 1
            cutoffs = self._measures.cutoffs
            places = cutoffs if length >= cutoffs[-1] else [min(k, length) for k in cutoffs]
            shares = list(map(truediv, seen, places))
            self._judged.add(shares)
        self._count(ranking, length)
        if self._keeps:
            self._keep(ranking.query_id, values, shares)

    def add_missing(self, query: QueryGrades) -> None:
        """Add a query that has no list."""
        if max(query.grades.values(), default=0) < 1:
            self.counts.without_relevant += 1
            return
        self.counts.queries += 1
        self.counts.missing += 1
        if self._keeps:
            self._keep(query.query_id, [0.0] * len(self._measures.names), [])

    def packed(self) -> tuple[Any, ...]:
        """Give all but the values of each query as plain values, for `merge` in another process."""
        self._sums.settle()
        self._judged.settle()
        return astuple(self.counts), self._sums.terms, self._judged.terms, self._filled

    def merge(self, packed: tuple[Any, ...]) -> None:
        """Add what was packed of other queries."""
        counts, sums, judged, filled = packed
        self.counts = Counts(*map(add, astuple(self.counts), counts))
        for own, others in ((self._sums, sums), (self._judged, judged)):
            for terms, more in zip(own.terms, others, strict=True):
                terms.extend(more)
        self._filled += filled

    def evaluation(self) -> Evaluation:
        """Divide.

        Raises:
            UsageError: when there is nothing to average: no query with a relevant document, or none with a list.
        """
        counts = self.counts
        if not counts.queries:
            raise UsageError(
                "the judgements have no query with a relevant document (grade 1 or more): nothing to measure"
            )
        if counts.missing == counts.queries:
            raise UsageError(
                f"none of the {counts.queries} judged queries has a result list; "
                f"{counts.extra} lists are of other queries",
                hint="Check that both files write the query ids alike.",
            )
        return Evaluation(cutoffs=self._measures.cutoffs, means=self._means(), counts=counts, per_query=self.per_query)

    def _means(self) -> dict[str, Mean]:
        queries, filled = self.counts.queries, self._filled
        totals = zip(self._measures.names, self._sums.values(), strict=True)
        means = {name: Mean(total / queries, queries) for name, total in totals}
        for k, total in zip(self._measures.cutoffs, self._judged.values(), strict=True):
            means[f"judged_at_{k}"] = Mean(total / filled if filled else None, filled)
            means[f"unjudged_at_{k}"] = Mean(1 - total / filled if filled else None, filled)
        return means

    def _count(self, ranking: Ranking, length: int) -> None:
        counts, tied = self.counts, ranking.tied
        counts.queries += 1
        if length < self._measures.cutoffs[-1]:
            counts.shallow += 1
            counts.empty += not length
        if ranking.repeated:
            counts.repeated += ranking.repeated
        if tied and any(k < len(tied) and tied[k - 1] == tied[k] for k in self._measures.cutoffs):
            counts.tied += 1
        if ranking.rank_disagrees:
            counts.rank_disagrees += 1

    def _keep(self, query_id: str, values: Sequence[float], shares: Sequence[float]) -> None:
        kept: dict[str, float | None] = dict(zip(self._measures.names, values, strict=True))
        for position, k in enumerate(self._measures.cutoffs):
            kept[f"judged_at_{k}"] = shares[position] if shares else None
            kept[f"unjudged_at_{k}"] = 1 - shares[position] if shares else None
        self.per_query[query_id] = kept
