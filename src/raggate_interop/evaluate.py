"""Result lists and judgements of any tool in, mean retrieval metrics out, without the rest of raggate.

A mean is over the queries that have a relevant document: one without results is 0.

Against trec_eval 9 and pytrec_eval, with which all shared values agree to the last digits: they leave out queries
without results (`-c` apart), average in queries without a relevant document as 0, have no cut-off for the reciprocal
rank, no exponential gain at a cut-off, and compare scores as 32-bit floats. All refuse or merge what occurs twice.

Per query and cut-off k, with R documents of grade 1 or more judged for the query:

    hit        1 if a relevant document stands in the first k places
    recall     relevant documents in the first k places / R
    precision  the same / k, also for a list shorter than k
    mrr        1 / rank of the first relevant document if that rank <= k, else 0
    ndcg       sum of grade / log2(rank + 1) over rank <= k, divided by that of all judgements in descending order
    ndcg_exp   the same with 2^grade - 1 in place of grade
    judged     judged documents among the first k places / places filled; null for an empty list. unjudged = 1 - judged
    map        mean over R of the precision at the rank of each relevant document, over the whole list

Negative grades count as 0. A sum is rounded once, so the order of the queries does not show in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum, log2
from pathlib import Path

from msgspec import Struct, field

from raggate.base.errors import UsageError
from raggate.base.numbers import counted
from raggate.base.quote import quoted
from raggate_interop.trec_beir import beir, trec
from raggate_interop.trec_beir.rankings import QueryGrades, Ranking, iter_lists

CUTOFFS = (1, 3, 5, 10)
MAX_CUTOFF = 100_000
AT_CUTOFF = ("hit", "recall", "precision", "mrr", "ndcg", "ndcg_exp")
_END = (1 << 60, 0)  # a rank behind every list
_NO_HIT = (0.0,) * len(AT_CUTOFF)
_FEW = 256
"""Lists of queries with at most so many judgements often look alike up to the last cut-off."""
BATCH = 1000
"""So many queries are summed in one go."""


class Files(Struct, frozen=True, kw_only=True):
    """What to score: judgements of a TREC file or a BEIR folder, and lists of a TREC run or of JSON lines.

    `keep_first` counts the first of several entries of a document for a query, in place of an error.
    """

    qrels: Path | None = None
    beir: Path | None = None
    split: str = "test"
    run: Path | None = None
    lists: Path | None = None
    keep_first: bool = False

    def judgements(self, *, whole: bool) -> Iterator[QueryGrades]:
        """Read the judgements; `whole` puts lines together that stand apart."""
        if self.beir is not None:
            qrels = beir.read_qrels(self.beir, self.split, keep_first=self.keep_first)
        elif self.qrels is None:
            raise UsageError("no judgements: name a qrels file or a BEIR folder")
        elif not whole:
            return trec.iter_qrels(self.qrels, keep_first=self.keep_first)
        else:
            qrels = trec.read_qrels(self.qrels, keep_first=self.keep_first)
        return (QueryGrades(query_id, grades) for query_id, grades in qrels.items())

    def rankings(self, *, whole: bool) -> Iterable[Ranking]:
        """Read the result lists; `whole` puts lines together that stand apart."""
        if self.lists is not None:
            return iter_lists(self.lists)
        if self.run is None:
            raise UsageError("no result lists: name a run file or a file of JSON lines")
        if not whole:
            return trec.iter_run(self.run, keep_first=self.keep_first)
        return trec.read_run(self.run, keep_first=self.keep_first).values()

    def can_be_read_again(self) -> bool:
        """Return whether none of the files is a pipe."""
        sources = (self.qrels, self.run, self.lists)
        return all(source is None or source.is_file() for source in sources)


class Scattered(Exception):
    """A query came twice: as `ranking`, or in the judgements."""

    def __init__(self, ranking: Ranking | None = None) -> None:
        super().__init__(ranking)
        self.ranking = ranking


class _WaitingGrades:
    """Judgements by query, read no further than the lists need: files in the same order pass by in step."""

    def __init__(self, groups: Iterable[QueryGrades]) -> None:
        self._groups = iter(groups)
        self._waiting: dict[str, QueryGrades] = {}
        self.given: set[str] = set()

    def take(self, query_id: str) -> Mapping[str, int] | None:
        """Return the judgements of a query, once; None when there are none (left)."""
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
        """Yield what was not taken."""
        yield from self._waiting.values()
        self.given.update(self._waiting)
        for group in self._groups:
            if group.query_id in self.given:
                raise Scattered
            self.given.add(group.query_id)
            yield group


def join(rankings: Iterable[Ranking], judgements: Iterable[QueryGrades], totals: Totals) -> None:
    """Add each list with its judgements to totals, both taken one by one.

    Raises:
        Scattered: when a query comes twice on either side.
    """
    lookup = _WaitingGrades(judgements)
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
    totals.counts.extra = len(extra)


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
        """Prepare for cut-offs."""
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
        """Measure the first places: all grades in descending order, rank and grade of the judged, places filled."""
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


class Mean(Struct, frozen=True):
    """A mean over queries.

    Attributes:
        value: the mean; null where it applies to none.
        n: over how many queries it is.
    """

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
    """Result lists, scored by judgements.

    Attributes:
        cutoffs: the cut-offs.
        counts: queries, and what is odd about them.
        metrics: by name, such as `ndcg_at_10`.
        per_query: by query and metric, with --per-query; else empty.
    """

    cutoffs: tuple[int, ...]
    counts: Counts
    metrics: dict[str, Mean]
    per_query: dict[str, dict[str, float | None]] = field(default_factory=dict)


class _Sums:
    """Sums of columns, each kept as a few floats that add up to it exactly."""

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
    """Sums over queries, and the values of each if they are to be kept."""

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
        """Divide."""
        self._settle()
        counts = self.counts
        if not counts.queries:
            raise UsageError(
                "the judgements have no query with a relevant document (grade 1 or more): nothing to measure"
            )
        if counts.missing == counts.queries:
            raise UsageError(
                f"no result list for any of {counted(counts.queries, 'judged query', 'judged queries')}, "
                f"but {counted(counts.extra, 'list')} of other queries",
                hint="Check that both files use the same query ids.",
            )
        return Evaluation(
            cutoffs=self._measures.cutoffs, metrics=self._means(), counts=counts, per_query=self.per_query
        )

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
        cutoffs: the values of k, each from 1 to 100,000.

    Raises:
        Scattered: when a query comes twice on either side.
    """
    totals = Totals(Measures(cutoffs), per_query=per_query)
    join(rankings, judgements, totals)
    return totals.evaluation()


def evaluate_files(files: Files, *, cutoffs: Sequence[int] = CUTOFFS, per_query: bool = False) -> Evaluation:
    """Score the result lists of a file. Files in which the lines of a query stand apart are held in memory."""
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
