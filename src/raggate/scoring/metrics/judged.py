"""Metrics of one case that judges score: what they said, never what could be guessed in its place.

What was not judged has no value: an error, a refusal of the judge or a budget that ran out is no score. A failed call
of the API is the worst value, as everywhere. A question that several answers were judged of has their mean.
"""

from __future__ import annotations

from raggate.models.run import LabelledResult


def groundedness(item: LabelledResult) -> float | None:
    """All claims of the answer are supported by the retrieved passages, and the major ones cited, by a judge.

    Formula: the points of the judge, or the median or majority of a panel: 5 all supported and all major claims cited,
        4 minor ones unsupported, 3 some supported or citations missing, 2 major ones unsupported or uncited, 1
        contradicts the passages, 0 no relation to them. With `judges.claims: each` the points follow from single
        claims. A failed call is 0.
    Null: refusals and blank answers, answers without passages, and what was not judged.
    Also: groundedness (helloworld); groundedness (kebab) counts texts that must and must not be in the answer.
    Source: helloworld's groundedness, on whole passages.
    """
    return 0.0 if item.result.response is None else _judged(item, "groundedness")


def correctness(item: LabelledResult) -> float | None:
    """The answer correctly addresses the question, by a judge who sees the expected key facts.

    Formula: the points of the judge, or the median or majority of a panel: 5 fully correct and complete, 4 minor
        issues, 3 partially correct, 2 significant errors, 1 mostly incorrect, 0 completely wrong. A failed call is 0,
        and so is a refusal or blank answer to an answerable question.
    Null: refusals and blank answers to unanswerable questions, and what was not judged.
    Also: correctness (helloworld), whose judge does not see the key facts.
    Source: helloworld's correctness.
    """
    response = item.result.response
    if response is None:
        return 0.0
    if response.abstained or not (response.answer or "").strip():
        return 0.0 if item.case.answerable else None
    return _judged(item, "correctness")


def faithfulness(item: LabelledResult) -> float | None:
    """Share of the answer's claims that the retrieved passages support, by a judge.

    Formula: supported claims / all claims that the judge lists, each once; a failed call is 0.
    Null: refusals and blank answers, answers without passages or claims, and what was not judged.
    Also: faithfulness (ragas).
    Source: substrate's faithfulness, which it names and does not define.
    """
    return 0.0 if item.result.response is None else _judged(item, "faithfulness")


def context_relevancy(item: LabelledResult) -> float | None:
    """Share of the retrieved passages that help to answer the question, by a judge.

    Formula: helpful passages / retrieved passages; a failed call is 0.
    Null: where nothing was retrieved, and what was not judged.
    Also: context precision and context relevance (ragas, trulens), each with a definition of its own.
    Source: substrate's context relevancy, which it names and does not define.
    """
    return 0.0 if item.result.response is None else _judged(item, "context_relevancy")


def abstention_accuracy(item: LabelledResult) -> float | None:
    """An unanswerable question is refused, by a judge who reads the answer: for APIs without the flag.

    Formula: 1 if the answer is a refusal, else 0; a blank answer is a refusal; a failed call is 0.
    Null: answerable cases, and what was not judged.
    Also: abstention_accuracy (raggate, by the flag).
    Source: helloworld's abstention accuracy, option 2.
    """
    if item.case.answerable:
        return None
    return 0.0 if item.result.response is None else _judged(item, "abstention")


def recency_conflict(item: LabelledResult) -> float | None:
    """The answer deals with notes that disagree as the case's recency_conflict_rule demands, by a judge.

    Formula: 1 if it does, else 0; a failed call is 0.
    Null: cases without a rule, refusals and blank answers, answers without passages, and what was not judged.
    Also: recency_conflict (raggate, by what is cited).
    Source: helloworld's recency_conflict_rule, which its scripts do not check.
    """
    if item.case.recency_conflict_rule is None:
        return None
    return 0.0 if item.result.response is None else _judged(item, "recency_conflict")


def _judged(item: LabelledResult, score: str) -> float | None:
    return next((judgement.value for judgement in item.judgements if judgement.score == score), None)
