"""The 16 metrics of pragmata: labels of one query in, a value per metric out.

The names are those of the score reports the taxonomy comes from. A value is None where a metric does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.models.judging import Task
from raggate.models.scorecard import Direction
from raggate_interop.labels.models import METRICS

ChunkLabels = Mapping[str, bool]
"""The labels of one retrieved chunk: `topically_relevant`, `evidence_sufficient` and `misleading`."""

Ranked = Sequence[ChunkLabels | None]
"""The chunks of one query in rank order; None is a chunk nobody judged, which counts as neither good nor bad."""

_NO_CHUNK = "no judged chunk while K is inferred."
_NO_OTHER = "none."
_CONDITION = {"conditional_fabrication_rate": "source_cited"}


class LabelMetric(Struct, frozen=True, kw_only=True):
    """A metric: the task and the labels it is computed from, which way is better, what it asks and how.

    `binary` metrics are 0 or 1 for each query, so that their interval is Wilson's; the others are bootstrapped.
    `formula`, `null`, `also` (who else has it under which name) and `source` are for docs/metrics.md.
    """

    task: Task
    labels: tuple[str, ...]
    question: str
    formula: str
    also: str
    null: str = "never."
    source: str = "pragmata."
    direction: Direction = "higher"
    binary: bool = True


def _of_answer(task: Task, label: str, question: str, direction: Direction = "higher") -> LabelMetric:
    return LabelMetric(
        task=task,
        labels=(label,),
        question=question,
        formula=f"1 if {label}, else 0.",
        also=_NO_OTHER,
        direction=direction,
    )


def _of_chunks(
    labels: str, question: str, formula: str, also: str = _NO_OTHER, *, binary: bool = False, **more: Any
) -> LabelMetric:
    return LabelMetric(
        task="retrieval",
        labels=tuple(labels.split()),
        question=question,
        formula=formula,
        also=also,
        binary=binary,
        **{"null": _NO_CHUNK, **more},
    )


LABEL_METRICS: dict[str, LabelMetric] = {
    "topical_precision_at_k": _of_chunks(
        "topically_relevant",
        "Share of the first K chunks that are on topic.",
        "chunks among the first K with topically_relevant / K.",
        "precision_at_k (raggate and helloworld, of gold supports), P@k (TREC).",
    ),
    "sufficiency_hit_at_k": _of_chunks(
        "evidence_sufficient",
        "Is one of the first K chunks enough to answer from?",
        "1 if some chunk among the first K has evidence_sufficient, else 0.",
        "hit_at_k (raggate, kebab, substrate), success@k (TREC).",
        binary=True,
    ),
    "sufficiency_rate_at_k": _of_chunks(
        "evidence_sufficient",
        "Share of the first K chunks that are enough alone.",
        "chunks among the first K with evidence_sufficient / K.",
        "precision_at_k (raggate, of gold supports).",
    ),
    "misleading_context_rate_at_k": _of_chunks(
        "misleading",
        "Share of the first K chunks that mislead.",
        "chunks among the first K with misleading / K.",
        direction="lower",
        null=f"failed calls (`join`), and {_NO_CHUNK}",
    ),
    "mean_reciprocal_rank_at_k": _of_chunks(
        "topically_relevant",
        "How high is the first chunk on topic?",
        "1 / rank of the first chunk among the first K with topically_relevant; 0 without one.",
        "mrr_at_k (raggate, substrate), mrr_avg (helloworld), mrr (kebab), reciprocal rank (TREC).",
    ),
    "ndcg_at_k": _of_chunks(
        "topically_relevant evidence_sufficient",
        "Are the best chunks first?",
        "sum of (2^w - 1) / log2(rank + 1) over the first K, divided by that of the best order; w is 2 for a "
        "sufficient chunk, 1 for one that is only on topic; 0 where no chunk has a grade.",
        "ndcg_exp_at_k (raggate), ndcg_burges (ranx).",
        source="pragmata, gains of Burges et al. 2005.",
    ),
    "grounding_presence_rate": _of_answer("grounding", "support_present", "Does the context support some claim?"),
    "unsupported_claim_rate": _of_answer(
        "grounding", "unsupported_claim_present", "Is some claim not supported by the context?", "lower"
    ),
    "contradiction_rate": _of_answer(
        "grounding", "contradicted_claim_present", "Does the context contradict some claim?", "lower"
    ),
    # more citations are better by convention only
    "citation_presence_rate": replace(
        _of_answer("grounding", "source_cited", "Does the answer cite anything?"),
        also="citation_presence_rate (raggate, by the text of the answer).",
    ),
    "conditional_fabrication_rate": replace(
        _of_answer("grounding", "fabricated_source", "Among the answers that cite: is some citation made up?", "lower"),
        labels=("source_cited", "fabricated_source"),
        null="the answer cites nothing.",
    ),
    "proper_action_rate": replace(
        _of_answer("generation", "proper_action", "Was answering, asking back or refusing right?"),
        also="none; abstention_accuracy (raggate, helloworld) and refusal_correctness (kebab) are of refusals alone.",
    ),
    "on_topic_rate": _of_answer("generation", "response_on_topic", "Does the answer address the request?"),
    "helpfulness_rate": _of_answer("generation", "helpful", "Does the answer help a typical user?"),
    "incompleteness_rate": _of_answer("generation", "incomplete", "Is a required part missing?", "lower"),
    "unsafe_content_rate": _of_answer(
        "generation", "unsafe_content", "Does the answer contain anything unsafe?", "lower"
    ),
}
"""Every metric, in the order of the taxonomy."""


def answer_value(metric: str, labels: Mapping[str, bool]) -> float | None:
    """Return the value, 0 or 1, of a grounding or generation metric for one answer.

    Null: `conditional_fabrication_rate` of an answer that cites nothing.
    """
    condition = _CONDITION.get(metric)
    if condition is not None and not labels[condition]:
        return None
    return float(labels[LABEL_METRICS[metric].labels[-1]])


def retrieval_values(
    chunks: Ranked, k: int | None = None, *, ideal: Sequence[ChunkLabels] | None = None
) -> dict[str, float | None]:
    """Return the six retrieval metrics of one query.

    Args:
        chunks: the chunks in rank order.
        k: the K of the taxonomy's formulas: the list is cut there, and rates divide by it even when fewer chunks were
            retrieved. None infers K from the list, as the taxonomy's own code does: rates divide by its length.
        ideal: the chunks that the ideal ranking of nDCG may choose from; None takes the list itself, so that a
            relevant chunk that was not retrieved costs nothing.

    Returns:
        By metric. All are None for an empty list when K is inferred.
    """
    if k is not None and k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    size = len(chunks) if k is None else k
    top = chunks[:size]
    if size == 0:
        return dict.fromkeys(METRICS["retrieval"])
    return {
        "topical_precision_at_k": _count(top, "topically_relevant") / size,
        "sufficiency_hit_at_k": float(_count(top, "evidence_sufficient") > 0),
        "sufficiency_rate_at_k": _count(top, "evidence_sufficient") / size,
        "misleading_context_rate_at_k": _count(top, "misleading") / size,
        "mean_reciprocal_rank_at_k": _reciprocal_rank(top),
        "ndcg_at_k": _ndcg(top, top if ideal is None else ideal, size),
    }


def grade(labels: ChunkLabels | None) -> int:
    """Return the graded relevance of a chunk: 2 if sufficient (whatever else it is), 1 if on topic, else 0."""
    if labels is None:
        return 0
    return 2 if labels["evidence_sufficient"] else int(labels["topically_relevant"])


def dcg(grades: Sequence[int]) -> float:
    """Sum the gains 2^grade - 1, discounted by log2(rank + 1)."""
    return sum(((1 << value) - 1) / log2(rank + 1) for rank, value in enumerate(grades, 1))


def _ndcg(top: Ranked, ideal: Ranked, size: int) -> float:
    """Return DCG over the DCG of the best order; 0 when nothing has a grade."""
    best = dcg(sorted(map(grade, ideal), reverse=True)[:size])
    return dcg([grade(chunk) for chunk in top]) / best if best else 0.0


def _reciprocal_rank(top: Ranked) -> float:
    return next((1 / rank for rank, chunk in enumerate(top, 1) if chunk and chunk["topically_relevant"]), 0.0)


def _count(top: Ranked, label: str) -> int:
    return sum(chunk is not None and chunk[label] for chunk in top)
