"""Answer metrics of one case that need no judge: what it cites and holds, and whether it is given at all.

All but abstention are None when no answer was asked for, and where the golden set has no label for them. A failed call
is the worst value, as everywhere.
"""

from __future__ import annotations

from raggate.base.headings import fold
from raggate.models.run import LabelledResult, Response
from raggate.scoring.metrics.citations import cited_supports, has_citation


def attribution_hit_rate(item: LabelledResult) -> float | None:
    """The answer cites a gold support: a reference of the API or a citation in the text names its note and section.

    Formula: 1 if some gold support is cited, else 0; a refusal and a failed call are 0. A reference matches as a chunk
        does. A citation in the text may leave out directories and outer headings.
    Null: unanswerable cases, cases labelled by ids alone, and responses without an answer.
    Also: attribution_hit_rate (helloworld).
    Source: helloworld's attribution hit rate, by path elements in place of string prefixes.
    """
    if not _citable(item) or _unasked(item):
        return None
    return float(bool(cited_supports(item)))


def citation_presence_rate(item: LabelledResult) -> float | None:
    """The text of the answer cites something, right or wrong.

    Formula: 1 if the text contains `File: …, Section: …` or the number `[n]` of a reference, else 0; a failed call is
        0. References alone do not count.
    Null: unanswerable cases, refusals and blank answers, and responses without an answer.
    Also: citation_presence_rate (human labels, by what people say of the answer).
    Source: raggate; helloworld hides missing citations behind its references.
    """
    if not item.case.answerable or _unasked(item):
        return None
    response = item.result.response
    if response is None:
        return 0.0
    if response.abstained or not _text(response).strip():
        return None
    return float(has_citation(response))


def key_fact_coverage(item: LabelledResult) -> float | None:
    """Share of the expected key facts that are in the answer, ignoring case and white space.

    Formula: expected_key_facts found in the answer / all of them; a failed call is 0.
    Null: cases without expected_key_facts, unanswerable cases, and responses without an answer.
    Also: none.
    Source: helloworld's expected_key_facts, which its scripts do not use; a fact counts by its words as written.
    """
    facts = [fold(fact).casefold() for fact in item.case.expected_key_facts if fact.strip()]
    if not item.case.answerable or not facts or _unasked(item):
        return None
    answer = fold(_text(item.result.response)).casefold()
    return sum(fact in answer for fact in facts) / len(facts)


def recency_conflict(item: LabelledResult) -> float | None:
    """The answer cites what the case's recency_conflict_rule asks for.

    Formula: cite_newer: 1 if the newer gold support is cited: the highest grade, of equal ones the last listed.
        cite_both and acknowledge_both: 1 if every gold support is cited. Else 0; a failed call is 0. Whether the text
        acknowledges the conflict takes a judge.
    Null: cases without a rule, cases labelled by ids alone, and responses without an answer.
    Also: none.
    Source: helloworld's recency_conflict_rule, which its scripts do not check.
    """
    rule = item.case.recency_conflict_rule
    if rule is None or not _citable(item) or _unasked(item):
        return None
    supports = item.case.gold_supports
    needed = set(range(len(supports)))
    if rule == "cite_newer":
        needed = {max(needed, key=lambda index: (supports[index].grade, index))}
    return float(needed <= cited_supports(item))


def answer_contains(item: LabelledResult) -> float | None:
    """The answer contains every text of must_contain and none of forbidden, letter by letter.

    Formula: 1 if all of must_contain and none of forbidden are substrings of the answer, else 0. A failed call is 0.
    Null: cases with neither, and responses without an answer.
    Also: groundedness (kebab).
    Source: kebab's groundedness by must_contain and forbidden.
    """
    case = item.case
    if not (case.must_contain or case.forbidden) or _unasked(item):
        return None
    if item.result.response is None:
        return 0.0
    answer = _text(item.result.response)
    held = all(text in answer for text in case.must_contain)
    return float(held and not any(text in answer for text in case.forbidden))


def _citable(item: LabelledResult) -> bool:
    return item.case.answerable and any(support.rel_path for support in item.case.gold_supports)


def _unasked(item: LabelledResult) -> bool:
    response = item.result.response
    return response is not None and response.answer is None


def _text(response: Response | None) -> str:
    return (response.answer if response else None) or ""


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
