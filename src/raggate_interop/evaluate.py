"""Result lists and judgements of any tool in, mean retrieval metrics out, without the rest of raggate.

A mean is over the queries that have a relevant document: one without results is 0.

Against trec_eval 9 and pytrec_eval, with which all shared values agree to the last digits: they leave out queries
without results (`-c` apart), average in queries without a relevant document as 0, have no cut-off for the reciprocal
rank, no exponential gain at a cut-off, and compare scores as 32-bit floats. All refuse or merge what occurs twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from raggate.errors import UsageError
from raggate.text.quote import quoted
from raggate_interop.joining import Scattered, join
from raggate_interop.measures import CUTOFFS, Measures
from raggate_interop.totals import Evaluation, Totals
from raggate_interop.trec_beir.evaluation_files import Files
from raggate_interop.trec_beir.grades import QueryGrades
from raggate_interop.trec_beir.rankings import Ranking


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
        UsageError: when there is nothing to average: no query with a relevant document, or none of them with a list.
    """
    totals = Totals(Measures(cutoffs), per_query=per_query)
    join(rankings, judgements, totals)
    return totals.evaluation()


def evaluate_files(files: Files, *, cutoffs: Sequence[int] = CUTOFFS, per_query: bool = False) -> Evaluation:
    """Score the result lists of a file. Files in which the lines of a query stand apart are held in memory.

    Args:
        cutoffs: the values of k, each from 1 to 100,000.

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
