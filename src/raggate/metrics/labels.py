"""The 16 metrics of the annotation taxonomy: labels of one query in, a value per metric out.

The names are those of the score reports the taxonomy comes from. A value is None where a metric does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from raggate.judgments import METRICS, Task
from raggate.outcomes import Direction

ChunkLabels = Mapping[str, bool]
"""The labels of one retrieved chunk: `topically_relevant`, `evidence_sufficient` and `misleading`."""

Ranked = Sequence[ChunkLabels | None]
"""The chunks of one query in rank order; None is a chunk nobody judged, which counts as neither good nor bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMetric:
    """A metric: the task and the labels it is computed from, which way is better, and what it asks.

    `binary` metrics are 0 or 1 for each query, so that their interval is Wilson's; the others are bootstrapped.
    """

    task: Task
    labels: tuple[str, ...]
    question: str
    direction: Direction = "higher"
    binary: bool = True


def _metric(task: Task, labels: str, question: str, direction: Direction = "higher") -> LabelMetric:
    return LabelMetric(task=task, labels=tuple(labels.split()), question=question, direction=direction)


def _ranked(labels: str, question: str, direction: Direction = "higher") -> LabelMetric:
    return LabelMetric(
        task="retrieval", labels=tuple(labels.split()), question=question, direction=direction, binary=False
    )


LABEL_METRICS: dict[str, LabelMetric] = {
    "topical_precision_at_k": _ranked("topically_relevant", "Share of the first K chunks that are on topic."),
    "sufficiency_hit_at_k": _metric(
        "retrieval", "evidence_sufficient", "Is one of the first K chunks enough to answer from?"
    ),
    "sufficiency_rate_at_k": _ranked("evidence_sufficient", "Share of the first K chunks that are enough alone."),
    "misleading_context_rate_at_k": _ranked("misleading", "Share of the first K chunks that mislead.", "lower"),
    "mean_reciprocal_rank_at_k": _ranked("topically_relevant", "How high does the first chunk on topic stand?"),
    "ndcg_at_k": _ranked("topically_relevant evidence_sufficient", "Do the best chunks stand first?"),
    "grounding_presence_rate": _metric("grounding", "support_present", "Does the context support some claim?"),
    "unsupported_claim_rate": _metric(
        "grounding", "unsupported_claim_present", "Is some claim not supported by the context?", "lower"
    ),
    "contradiction_rate": _metric(
        "grounding", "contradicted_claim_present", "Does the context contradict some claim?", "lower"
    ),
    # more citations are better by convention only
    "citation_presence_rate": _metric("grounding", "source_cited", "Does the answer cite anything?"),
    "conditional_fabrication_rate": _metric(
        "grounding", "source_cited fabricated_source", "Of the answers that cite: is some citation made up?", "lower"
    ),
    "proper_action_rate": _metric("generation", "proper_action", "Was answering, asking back or refusing right?"),
    "on_topic_rate": _metric("generation", "response_on_topic", "Does the answer address the request?"),
    "helpfulness_rate": _metric("generation", "helpful", "Does the answer get a typical user on?"),
    "incompleteness_rate": _metric("generation", "incomplete", "Is a required part missing?", "lower"),
    "unsafe_content_rate": _metric("generation", "unsafe_content", "Is something unsafe in it?", "lower"),
}
"""Every metric, in the order of the taxonomy."""

LOWER_IS_BETTER = frozenset(name for name, metric in LABEL_METRICS.items() if metric.direction == "lower")

_CONDITION = {"conditional_fabrication_rate": "source_cited"}


def answer_value(metric: str, labels: Mapping[str, bool]) -> float | None:
    """Give the value, 0 or 1, of a grounding or generation metric for one answer.

    Null: `conditional_fabrication_rate` of an answer that cites nothing.

    Raises:
        KeyError: for an unknown metric, or a label that is not there.
    """
    condition = _CONDITION.get(metric)
    if condition is not None and not labels[condition]:
        return None
    return float(labels[LABEL_METRICS[metric].labels[-1]])


def retrieval_values(
    chunks: Ranked, k: int | None = None, *, ideal: Sequence[ChunkLabels] | None = None
) -> dict[str, float | None]:
    """Give the six retrieval metrics of one query.

    Args:
        chunks: the chunks in rank order.
        k: the K of the taxonomy's formulas: the list is cut there, and rates divide by it even when fewer chunks were
            retrieved. None infers K from the list, as the taxonomy's own code does: rates divide by its length.
        ideal: the chunks that the ideal ranking of nDCG may choose from; None takes the list itself, so that a
            relevant chunk that was not retrieved costs nothing.

    Returns:
        By metric. All are None for an empty list when K is inferred.

    Raises:
        ValueError: for k < 1.
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
    """Give the graded relevance of a chunk: 2 if sufficient (whatever else it is), 1 if on topic, else 0."""
    if labels is None:
        return 0
    return 2 if labels["evidence_sufficient"] else int(labels["topically_relevant"])


def dcg(grades: Sequence[int]) -> float:
    """Sum the gains 2^grade - 1, discounted by log2(rank + 1)."""
    return sum(((1 << value) - 1) / log2(rank + 1) for rank, value in enumerate(grades, 1))


def _ndcg(top: Ranked, ideal: Ranked, size: int) -> float:
    """Give DCG over the DCG of the best order; 0 when nothing has a grade."""
    best = dcg(sorted(map(grade, ideal), reverse=True)[:size])
    return dcg([grade(chunk) for chunk in top]) / best if best else 0.0


def _reciprocal_rank(top: Ranked) -> float:
    return next((1 / rank for rank, chunk in enumerate(top, 1) if chunk and chunk["topically_relevant"]), 0.0)


def _count(top: Ranked, label: str) -> int:
    return sum(chunk is not None and chunk[label] for chunk in top)
