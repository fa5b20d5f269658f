"""Result lists and judgements of any tool in, mean retrieval metrics out, without the rest of raggate.

Per query and cut-off k, with R documents of grade 1 or more judged for the query:

    hit        1 if a relevant document stands in the first k places
    recall     relevant documents in the first k places / R
    precision  the same / k, also for a list shorter than k
    mrr        1 / rank of the first relevant document if that rank <= k, else 0
    ndcg       sum of grade / log2(rank + 1) over rank <= k, divided by that of all judgements in descending order
    ndcg_exp   the same with 2^grade - 1 in place of grade
    judged     judged documents among the first k places / places filled; null for an empty list. unjudged = 1 - judged
    map        mean over R of the precision at the rank of each relevant document, over the whole list

Negative grades count as 0. A mean is over the queries that have a relevant document: one without results is 0.

Against trec_eval 9 and pytrec_eval, with which all shared values agree to the last digits: they leave out queries
without results (`-c` apart), average in queries without a relevant document as 0, have no cut-off for the reciprocal
rank, no exponential gain at a cut-off, and compare scores as 32-bit floats. All refuse or merge what occurs twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress, count
from math import log2
from operator import add
from typing import NamedTuple

from raggate.errors import UsageError
from raggate.interop.trec_beir.evaluation_files import Files
from raggate.interop.trec_beir.grades import QueryGrades
from raggate.interop.trec_beir.rankings import Ranking
from raggate.text.quote import quoted

CUTOFFS = (1, 3, 5, 10)
MAX_CUTOFF = 100_000
AT_CUTOFF = ("hit", "recall", "precision", "mrr", "ndcg", "ndcg_exp")
_PAST = 1 << 60  # a rank behind every list


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


class Scattered(Exception):
    """A query came twice: as `ranking`, or in the judgements."""

    def __init__(self, ranking: Ranking | None = None) -> None:
        super().__init__(ranking)
        self.ranking = ranking


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

    def of(self, doc_ids: Sequence[str], grades: Mapping[str, int]) -> tuple[list[float], list[int]]:
        """Measure a list without repetition against judgements of which at least one is relevant.

        Returns:
            The values in the order of `names`, and how many of the first k documents are judged, per cut-off.
        """
        relevant, ideals = self._ideal(tuple(sorted(grades.values(), reverse=True)))
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
            share = (hits / relevant, hits / k)
            values += (1.0 if hits else 0.0, *share, reciprocal, gain / ideal, exponential / ideal_exponential)
            judged_counts.append(seen)
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


class _WaitingGrades:
    """Judgements by query, read no further than the lists need: files in the same order pass by in step."""

    def __init__(self, groups: Iterable[QueryGrades]) -> None:
        self._groups = iter(groups)
        self._waiting: dict[str, QueryGrades] = {}
        self.given: set[str] = set()

    def take(self, query_id: str) -> Mapping[str, int] | None:
        """Give the judgements of a query, once; None when there are none (left)."""
        if query_id in self.given:
            return None
        query = self._waiting.pop(query_id, None)
        while query is None:
            group = next(self._groups, None)
            if group is None:
                return None
            if group.query_id in self.given or group.query_id in self._waiting:
                raise Scattered
            if group.query_id == query_id:
                query = group
            else:
                self._waiting[group.query_id] = group
        self.given.add(query_id)
        return query.grades

    def rest(self) -> Iterator[QueryGrades]:
        """Give what was not taken."""
        yield from self._waiting.values()
        self.given.update(self._waiting)
        for group in self._groups:
            if group.query_id in self.given:
                raise Scattered
            self.given.add(group.query_id)
            yield group


class _Totals:
    """Sums over the queries, and the values of each if they are to be kept."""

    def __init__(self, measures: Measures, *, per_query: bool) -> None:
        self.counts = Counts()
        self.per_query: dict[str, dict[str, float | None]] = {}
        self._keeps = per_query
        self._measures = measures
        self._values = [0.0] * len(measures.names)
        self._judged = [0.0] * len(measures.cutoffs)
        self._filled = 0

    def add(self, ranking: Ranking, grades: Mapping[str, int]) -> None:
        """Add a list; what cannot be relevant is not scored."""
        if max(grades.values(), default=0) < 1:
            self.counts.without_relevant += 1
            return
        values, seen = self._measures.of(ranking.doc_ids, grades)
        self._values = list(map(add, self._values, values))
        length = len(ranking.doc_ids)
        shares: list[float] = []
        if length:
            self._filled += 1
            shares = [number / min(k, length) for number, k in zip(seen, self._measures.cutoffs, strict=True)]
            self._judged = list(map(add, self._judged, shares))
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
            self._keep(query.query_id, [0.0] * len(self._values), [])

    def means(self) -> dict[str, Mean]:
        """Divide."""
        queries, filled = self.counts.queries, self._filled
        means = {
            name: Mean(total / queries, queries) for name, total in zip(self._measures.names, self._values, strict=True)
        }
        for k, total in zip(self._measures.cutoffs, self._judged, strict=True):
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


def evaluate(
    rankings: Iterable[Ranking],
    judgements: Iterable[QueryGrades],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    per_query: bool = False,
) -> Evaluation:
    """Score result lists against judgements, both taken one by one.

    Memory holds query ids, and judgements only as far as their order differs from that of the lists.

    Args:
        rankings: one list per query; see `trec_beir.trec.iter_run` and `trec_beir.rankings.iter_lists`.
        judgements: one group per query.
        cutoffs: the values of k, each from 1 to 100,000.
        per_query: keep the values of every query.

    Raises:
        Scattered: when a query comes twice on either side.
        UsageError: when there is nothing to average: no query with a relevant document, or none of them with a list.
    """
    measures, lookup = Measures(cutoffs), _WaitingGrades(judgements)
    totals = _Totals(measures, per_query=per_query)
    extra: set[str] = set()
    for ranking in rankings:
        grades = lookup.take(ranking.query_id)
        if grades is not None:
            totals.add(ranking, grades)
        elif ranking.query_id in lookup.given or ranking.query_id in extra:
            raise Scattered(ranking)
        else:
            extra.add(ranking.query_id)
    for query in lookup.rest():
        totals.add_missing(query)
    counts = totals.counts
    counts.extra = len(extra)
    if not counts.queries:
        raise UsageError("the judgements have no query with a relevant document (grade 1 or more): nothing to measure")
    if counts.missing == counts.queries:
        raise UsageError(
            f"none of the {counts.queries} judged queries has a result list; {counts.extra} lists are of other queries",
            hint="Check that both files write the query ids alike.",
        )
    return Evaluation(cutoffs=measures.cutoffs, means=totals.means(), counts=counts, per_query=totals.per_query)


def evaluate_files(files: Files, *, cutoffs: Sequence[int] = CUTOFFS, per_query: bool = False) -> Evaluation:
    """Score the result lists of a file. Files in which the lines of a query stand apart are held in memory.

    Raises:
        UsageError: naming file and line, for a file that cannot be read; or when there is nothing to measure.
    """
    for whole in (False, True) if files.can_be_read_again() else (True,):
        try:
            return evaluate(
                files.rankings(whole=whole), files.judgements(whole=whole), cutoffs=cutoffs, per_query=per_query
            )
        except Scattered as twice:
            if twice.ranking is not None and files.lists is not None:
                place = f"{files.lists}:{twice.ranking.line}"
                raise UsageError(f"{place}: query {quoted(twice.ranking.query_id)} has a list already") from None
    raise AssertionError("files read whole have every query once")
