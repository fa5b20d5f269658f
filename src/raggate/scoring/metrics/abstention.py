"""Abstention metrics of one case: does the system know when not to answer."""

from __future__ import annotations

from raggate.models.run import LabelledResult, Response


def abstention_accuracy(item: LabelledResult) -> float | None:
    """An unanswerable question is refused.

    Formula: 1 if the API abstained, else 0; a failed call is 0. Without the flag a blank answer counts as abstaining.
    Null: answerable cases, and all cases if no abstention is read from answers.
    Also: abstention_accuracy (helloworld), refusal_correctness (kebab).
    Source: helloworld's abstention accuracy.
    """
    if item.case.answerable:
        return None
    response = item.result.response
    return float(response is not None and _abstained(response))


def hallucination_rate_unanswerable(item: LabelledResult) -> float | None:
    """An unanswerable question is answered all the same.

    Formula: 1 if the API did not abstain, else 0.
    Null: where abstention_accuracy is. A failed call counts as 1: the rate is the inverse of abstention_accuracy.
    Also: hallucination_rate_unanswerable (helloworld).
    Source: helloworld's hallucination rate on unanswerable.
    """
    accuracy = abstention_accuracy(item)
    return None if accuracy is None else 1 - accuracy


def false_abstention_rate(item: LabelledResult) -> float | None:
    """An answerable question is refused.

    Formula: 1 if the API abstained, else 0; a failed call is 1.
    Null: unanswerable cases, and all cases if no abstention is read from answers.
    Also: none.
    Source: raggate; helloworld has no such metric.
    """
    if not item.case.answerable:
        return None
    response = item.result.response
    return float(response is None or _abstained(response))


def _abstained(response: Response) -> bool:
    return response.abstained or (response.answer is not None and not response.answer.strip())
