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

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import fsum, log2
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from raggate.errors import UsageError
from raggate.text.numbers import counted
from raggate_interop.trec_beir import beir, trec
from raggate_interop.trec_beir.rankings import Ranking, read_lists

CUTOFFS = (1, 3, 5, 10)
MAX_CUTOFF = 100_000
AT_CUTOFF = ("hit", "recall", "precision", "mrr", "ndcg", "ndcg_exp")


class Files(Struct, frozen=True, kw_only=True):
    """What to score: judgements from `qrels` or `beir`, result lists from `run` or `lists`; one of each pair.

    Attributes:
        qrels: a TREC qrels file.
        beir: a BEIR folder, of which the judgements of `split` are read.
        split: the name of the split.
        run: a TREC run file.
        lists: result lists as JSON lines.
        keep_first: of a document that occurs twice for a query in qrels or run count the first, in place of an error.
    """

    qrels: Path | None = None
    beir: Path | None = None
    split: str = "test"
    run: Path | None = None
    lists: Path | None = None
    keep_first: bool = False

    def judgements(self) -> dict[str, dict[str, int]]:
        """Read the grades by query and document."""
        if self.beir is not None:
            return beir.read_qrels(self.beir, self.split, keep_first=self.keep_first)
        if self.qrels is None:
            raise UsageError("no judgements: name a qrels file or a BEIR folder")
        return trec.read_qrels(self.qrels, keep_first=self.keep_first)

    def rankings(self) -> dict[str, Ranking]:
        """Read the result lists by query."""
        if self.lists is not None:
            return read_lists(self.lists)
        if self.run is None:
            raise UsageError("no result lists: name a run file or a file of JSON lines")
        return trec.read_run(self.run, keep_first=self.keep_first)


class Measures:
    """The metrics of one query at fixed cut-offs."""

    def __init__(self, cutoffs: Sequence[int]) -> None:
        """Prepare for cut-offs."""
        self.cutoffs = tuple(sorted(set(cutoffs)))
        if not self.cutoffs or self.cutoffs[0] < 1 or self.cutoffs[-1] > MAX_CUTOFF:
            raise UsageError(f"cut-offs {list(self.cutoffs)}, expected numbers from 1 to {MAX_CUTOFF}")
        at_cutoffs = [f"{name}_at_{k}" for k in self.cutoffs for name in AT_CUTOFF]
        judged = [f"{name}_at_{k}" for k in self.cutoffs for name in ("judged", "unjudged")]
        self.names = (*at_cutoffs, "map", *judged)

    def of(self, ranks: Mapping[str, int], grades: Mapping[str, int]) -> dict[str, float | None]:
        """Measure a list without repetition against judgements, at least one of them relevant."""
        judged = sorted((ranks[doc_id], grade) for doc_id, grade in grades.items() if doc_id in ranks)
        ideal = list(enumerate(sorted((grade for grade in grades.values() if grade > 0), reverse=True), 1))
        places = [rank for rank, _ in judged]
        hits = [rank for rank, grade in judged if grade > 0]
        values: list[float | None] = []
        for k in self.cutoffs:
            found = bisect_right(hits, k)
            if not found:
                values += (0.0,) * len(AT_CUTOFF)
                continue
            values += (1.0, found / len(ideal), found / k, 1 / hits[0])
            values += (gain(judged, k) / gain(ideal, k) for gain in (_linear_gain, _exponential_gain))
        values.append(fsum(number / rank for number, rank in enumerate(hits, 1)) / len(ideal))
        for k in self.cutoffs:
            share = bisect_right(places, k) / min(k, len(ranks)) if ranks else None
            values += (share, None if share is None else 1 - share)
        return dict(zip(self.names, values, strict=True))


def _linear_gain(graded: Sequence[tuple[int, int]], k: int) -> float:
    return fsum(grade / log2(rank + 1) for rank, grade in graded if rank <= k and grade > 0)


def _exponential_gain(graded: Sequence[tuple[int, int]], k: int) -> float:
    return fsum((2**grade - 1) / log2(rank + 1) for rank, grade in graded if rank <= k and grade > 0)


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


def evaluate(
    rankings: Mapping[str, Ranking],
    qrels: Mapping[str, Mapping[str, int]],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    per_query: bool = False,
) -> Evaluation:
    """Score the result lists of queries against their judgements.

    Args:
        cutoffs: the values of k, each from 1 to 100,000.
    """
    measures = Measures(cutoffs)
    counts = Counts(extra=len(rankings.keys() - qrels.keys()))
    scored: dict[str, dict[str, float | None]] = {}
    for query_id, grades in qrels.items():
        if max(grades.values(), default=0) < 1:
            counts.without_relevant += 1
            continue
        ranking = rankings.get(query_id)
        if ranking is None:
            counts.missing += 1
        else:
            _count_odd(counts, ranking, measures.cutoffs)
        scored[query_id] = measures.of({} if ranking is None else ranking.ranks, grades)
    counts.queries = len(scored)
    if not scored:
        raise UsageError("the judgements have no query with a relevant document (grade 1 or more): nothing to measure")
    if counts.missing == counts.queries:
        raise UsageError(
            f"no result list for any of {counted(counts.queries, 'judged query', 'judged queries')}; "
            f"{counted(counts.extra, 'list')} of other queries",
            hint="Check that both files write the query ids alike.",
        )
    means = {name: _mean([values[name] for values in scored.values()]) for name in measures.names}
    return Evaluation(cutoffs=measures.cutoffs, means=means, counts=counts, per_query=scored if per_query else {})


def _count_odd(counts: Counts, ranking: Ranking, cutoffs: Sequence[int]) -> None:
    counts.empty += not ranking.ranks
    counts.shallow += len(ranking.ranks) < cutoffs[-1]
    counts.repeated += ranking.repeated
    tied = ranking.tied
    counts.tied += any(k < len(tied) and tied[k - 1] == tied[k] for k in cutoffs)
    counts.rank_disagrees += ranking.rank_disagrees


def _mean(values: Sequence[float | None]) -> Mean:
    known = [value for value in values if value is not None]
    return Mean(fsum(known) / len(known) if known else None, len(known))


def evaluate_files(files: Files, *, cutoffs: Sequence[int] = CUTOFFS, per_query: bool = False) -> Evaluation:
    """Score the result lists of a file; see `evaluate`."""
    return evaluate(files.rankings(), files.judgements(), cutoffs=cutoffs, per_query=per_query)


class EvaluatedMean(Struct, frozen=True, kw_only=True):
    """A mean over queries.

    Attributes:
        value: the mean; null where it applies to none.
        n: over how many queries it is.
    """

    value: float | None
    n: int


class Evaluated(Struct, frozen=True, kw_only=True):
    """Result lists, scored by judgements.

    Attributes:
        cutoffs: the cut-offs.
        counts: queries, and what is odd about them.
        metrics: by name.
        per_query: by query and metric, with --per-query; else empty.
    """

    cutoffs: tuple[int, ...]
    counts: Counts
    metrics: Mapping[str, EvaluatedMean]
    per_query: Mapping[str, Mapping[str, float | None]]
