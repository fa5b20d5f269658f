"""What to measure. A metric is one function of a labelled case; add it to a module here and one line to the dict.

A function returns None where the metric does not apply. Its docstring is its documentation: the summary line, then
`Formula:`, `Null:`, `Also:` (who calls it what, or `nobody else.`) and `Source:`; docs/metrics.md is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from msgspec import Struct

from raggate.models.run import LabelledResult
from raggate.models.scorecard import Direction
from raggate.scoring.metrics import answers, documents, headings, judged, retrieval
from raggate.scoring.metrics.headings import list_of
from raggate.scoring.metrics.ranking import matches_of

PerCase = Callable[[LabelledResult], float | None]


class Metric(Struct, frozen=True):
    """A metric: its function, which way is better, and whether it only takes the values 0 and 1.

    `ranked` metrics take a cut-off and are named `<name>_at_<k>`. `sees` returns all that the metric sees of a case:
    cases that are equal in it are scored once. Those `of_answer` say nothing of a run that asked for retrieval alone,
    in which even a failed call is no missing answer. Those with a `judged` score are of the runs in which judges give
    that score, and no other run has them. Those `of_abstention` say nothing of a run whose configuration reads from no
    answer whether the API abstained.
    """

    function: Callable[..., float | None]
    direction: Direction = "higher"
    ranked: bool = False
    sees: Callable[[LabelledResult], Hashable] | None = None
    binary: bool = False
    of_answer: bool = False
    of_abstention: bool = False
    judged: str = ""


METRICS: dict[str, Metric] = {
    "hit": Metric(retrieval.hit, ranked=True, sees=matches_of, binary=True),
    "recall_all": Metric(retrieval.recall_all, ranked=True, sees=matches_of, binary=True),
    "mrr": Metric(retrieval.mrr, ranked=True, sees=matches_of),
    "precision": Metric(retrieval.precision, ranked=True, sees=matches_of),
    "ndcg": Metric(retrieval.ndcg, ranked=True, sees=matches_of),
    "ndcg_exp": Metric(retrieval.ndcg_exp, ranked=True, sees=matches_of),
    "unjudged": Metric(retrieval.unjudged, "lower", ranked=True, sees=matches_of),
    "scope_miss_rate": Metric(retrieval.scope_miss, "lower", binary=True),
    "heading_dominance_rate": Metric(retrieval.heading_dominance, "lower", binary=True),
    "heading_only_hit_rate": Metric(headings.heading_only_hit, "lower", ranked=True, sees=list_of),
    "lexical_dominance": Metric(headings.lexical_dominance, "lower", ranked=True, sees=list_of),
    "heading_first": Metric(headings.heading_first, "lower", ranked=True, sees=list_of),
    "abstention_accuracy": Metric(answers.abstention_accuracy, binary=True, of_abstention=True),
    "hallucination_rate_unanswerable": Metric(
        answers.hallucination_rate_unanswerable, "lower", binary=True, of_abstention=True
    ),
    "false_abstention_rate": Metric(answers.false_abstention_rate, "lower", binary=True, of_abstention=True),
    "document_precision": Metric(documents.document_precision, ranked=True, sees=list_of),
    "duplicate_doc_rate": Metric(documents.duplicate_doc_rate, "lower", ranked=True, sees=list_of),
    "diversity_rate": Metric(documents.diversity_rate, ranked=True, sees=list_of),
    "context_chars": Metric(documents.context_chars, "lower", ranked=True),
    "attribution_hit_rate": Metric(answers.attribution_hit_rate, binary=True, of_answer=True),
    "citation_presence_rate": Metric(answers.citation_presence_rate, binary=True, of_answer=True),
    "key_fact_coverage": Metric(answers.key_fact_coverage, of_answer=True),
    "recency_conflict": Metric(answers.recency_conflict, binary=True, of_answer=True),
    "answer_contains": Metric(answers.answer_contains, binary=True, of_answer=True),
    "groundedness": Metric(judged.groundedness, of_answer=True, judged="groundedness"),
    "correctness": Metric(judged.correctness, of_answer=True, judged="correctness"),
    "faithfulness": Metric(judged.faithfulness, of_answer=True, judged="faithfulness"),
    "context_relevancy": Metric(judged.context_relevancy, of_answer=True, judged="context_relevancy"),
    "judged_abstention_accuracy": Metric(judged.abstention_accuracy, of_answer=True, judged="abstention"),
    "judged_recency_conflict": Metric(judged.recency_conflict, of_answer=True, judged="recency_conflict"),
}
