"""Means over queries: their values one after the other in, sums without an error of rounding out.

A sum is that of the values themselves, rounded once: the order of the queries does not show in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from msgspec import Struct, field

from raggate.errors import UsageError
from raggate.text.numbers import counted
from raggate_interop.measures import Measures, Top
from raggate_interop.trec_beir.grades import QueryGrades
from raggate_interop.trec_beir.rankings import Ranking

BATCH = 1000
"""So many queries are summed in one go."""


class Mean(NamedTuple):
    """A mean over n queries; `value` is None when the metric applies to none."""

    value: float | None
    n: int


class Counts(Struct):
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


class Evaluation(Struct, frozen=True, kw_only=True):
    """The result: means by metric name such as `ndcg_at_10`, and values per query if they were asked for."""

    cutoffs: tuple[int, ...]
    means: dict[str, Mean]
    counts: Counts
    per_query: dict[str, dict[str, float | None]] = field(default_factory=dict)


class _Sums:
    """Sums of columns, each kept as a few floats of which it is the exact sum."""

    def __init__(self, width: int) -> None:
        self.terms: list[list[float]] = [[] for _ in range(width)]

    def add(self, rows: Iterable[Sequence[float]]) -> None:
        """Add the values of rows to each column."""
        for terms, column in zip(self.terms, zip(*rows, strict=True), strict=False):
            terms[:] = _exact([*terms, *column])

    def values(self) -> list[float]:
        """Return the sum of each column."""
        return list(map(fsum, self.terms))


def _times(row: Sequence[float], count: int) -> Iterator[Sequence[float]]:
    """Yield a few rows that have exactly the sum of one taken so many times: a power of two rounds nothing."""
    while count:
        power = count & -count
        yield row if power == 1 else [value * power for value in row]
        count -= power


def _exact(values: list[float]) -> list[float]:
    """Return a few floats that have exactly the sum of many."""
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
        self._tops: dict[Top, int] = {}
        self._precisions: list[float] = []
        self._sums = _Sums(len(measures.names) - 1)
        self._map = _Sums(1)
        self._judged = _Sums(len(measures.cutoffs))
        self._filled = 0

    def add(self, ranking: Ranking, grades: Mapping[str, int]) -> None:
        """Add a list; what cannot be relevant is not scored."""
        top, precision = self._measures.of(ranking.ranks, grades)
        if not top.relevant:
            self.counts.without_relevant += 1
            return
        self._tops[top] = self._tops.get(top, 0) + 1
        self._precisions.append(precision)
        if ranking.repeated or ranking.tied or ranking.rank_disagrees:
            self._count_odd(ranking)
        if self._keeps:
            self._keep(ranking.query_id, [*top.values, precision], top.judged)
        if len(self._precisions) == BATCH:
            self._settle()

    def add_missing(self, query: QueryGrades) -> None:
        """Add a query that has no list."""
        if max(query.grades.values(), default=0) < 1:
            self.counts.without_relevant += 1
            return
        self.counts.queries += 1
        self.counts.missing += 1
        if self._keeps:
            self._keep(query.query_id, [0.0] * len(self._measures.names), [])

    def evaluation(self) -> Evaluation:
        """Divide.

        Raises:
            UsageError: when there is nothing to average: no query with a relevant document, or none with a list.
        """
        self._settle()
        counts = self.counts
        if not counts.queries:
            raise UsageError(
                "the judgements have no query with a relevant document (grade 1 or more): nothing to measure"
            )
        if counts.missing == counts.queries:
            raise UsageError(
                f"no result list for any of {counted(counts.queries, 'judged query', 'judged queries')}; "
                f"{counted(counts.extra, 'list')} of other queries",
                hint="Check that both files write the query ids alike.",
            )
        return Evaluation(cutoffs=self._measures.cutoffs, means=self._means(), counts=counts, per_query=self.per_query)

    def _means(self) -> dict[str, Mean]:
        queries, filled = self.counts.queries, self._filled
        totals = zip(self._measures.names, self._sums.values() + self._map.values(), strict=True)
        means = {name: Mean(total / queries, queries) for name, total in totals}
        for k, total in zip(self._measures.cutoffs, self._judged.values(), strict=True):
            means[f"judged_at_{k}"] = Mean(total / filled if filled else None, filled)
            means[f"unjudged_at_{k}"] = Mean(1 - total / filled if filled else None, filled)
        return means

    def _settle(self) -> None:
        """Sum and count what waits. Lists that look alike are summed in one go."""
        counts, last = self.counts, self._measures.cutoffs[-1]
        rows: list[Sequence[float]] = []
        judged: list[Sequence[float]] = []
        for top, count in self._tops.items():
            counts.queries += count
            if top.places < last:
                counts.shallow += count
            if top.places:
                self._filled += count
            else:
                counts.empty += count
            rows += _times(top.values, count)
            judged += _times(top.judged, count if top.judged else 0)
        self._sums.add(rows)
        self._judged.add(judged)
        self._map.add([[value] for value in self._precisions])
        self._tops.clear()
        self._precisions.clear()

    def _count_odd(self, ranking: Ranking) -> None:
        counts, tied = self.counts, ranking.tied
        counts.repeated += ranking.repeated
        if any(k < len(tied) and tied[k - 1] == tied[k] for k in self._measures.cutoffs):
            counts.tied += 1
        if ranking.rank_disagrees:
            counts.rank_disagrees += 1

    def _keep(self, query_id: str, values: Sequence[float], shares: Sequence[float]) -> None:
        kept: dict[str, float | None] = dict(zip(self._measures.names, values, strict=True))
        for position, k in enumerate(self._measures.cutoffs):
            kept[f"judged_at_{k}"] = shares[position] if shares else None
            kept[f"unjudged_at_{k}"] = 1 - shares[position] if shares else None
        self.per_query[query_id] = kept
