"""What judges score: an answer's material in, a judgement for every score out.

Scores that follow from the same reply are a family: it is asked for once. What cannot be judged, because there is no
answer or nothing to hold it against, costs no call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from raggate.judges import claims
from raggate.judges.ask import Opinion
from raggate.judges.grader import Grader
from raggate.judges.material import Material
from raggate.judges.parse import ReplyFormat
from raggate.judges.replies import (
    AbstentionReply,
    ContextRelevancyReply,
    CorrectnessReply,
    GenerationLabelsReply,
    GroundednessReply,
    GroundingLabelsReply,
    RecencyConflictReply,
    RetrievalLabelsReply,
    each_once,
)
from raggate.labels.models import LABELS, Task
from raggate.models.judging import Judgement, NotJudged

Judge = Callable[[Grader, Material], Awaitable[tuple[Judgement, ...]]]


class Family(Struct, frozen=True):
    """Scores that are judged together: their names, how, and the rubrics with the replies they ask for."""

    scores: tuple[str, ...]
    judge: Judge
    rubrics: Mapping[str, type[ReplyFormat]]


async def _groundedness(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    """Score the answer as a whole; faithfulness is the share of the listed claims that are supported."""
    names = claims.SCORES
    if gap := material.gap(passages=True):
        return _nothing(grader, names, gap)
    opinion = await grader.reply("groundedness", material.of_passages(), GroundednessReply)
    says = opinion.says
    if isinstance(says, NotJudged):
        return _failed(grader, names, says, opinion)
    if problem := says.contradiction(cites=material.cites):
        return _failed(grader, names, NotJudged(reason="unusable_score", detail=problem), opinion)
    supported, unsupported = each_once(says.supported_claims), each_once(says.unsupported_claims)
    texts = {"reasoning": says.reasoning, "supported": supported, "unsupported": unsupported}
    score = grader.value("groundedness", float(says.score), (opinion,), **texts)
    total = len(supported) + len(unsupported)
    if not total:
        empty = NotJudged(reason="nothing_to_judge", detail="the judge lists no claim of the answer")
        return score, grader.none("faithfulness", empty, (opinion,))
    return score, grader.value("faithfulness", len(supported) / total, (opinion,), **texts)


async def _correctness(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    if gap := material.gap():
        return _nothing(grader, ("correctness",), gap)
    whole = material.of_passages()
    parts = {key: whole[key] for key in ("question", "answer", "passages")}
    opinion = await grader.reply(
        "correctness", {**parts, "expected_key_facts": list(material.key_facts)}, CorrectnessReply
    )
    says = opinion.says
    if isinstance(says, NotJudged):
        return _failed(grader, ("correctness",), says, opinion)
    if problem := says.contradiction():
        return _failed(grader, ("correctness",), NotJudged(reason="unusable_score", detail=problem), opinion)
    return (grader.value("correctness", float(says.score), (opinion,), reasoning=says.reasoning),)


async def _abstention(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    """Tell a refusal by the answer's text; a blank answer is one, and takes no judge."""
    if not material.answer.strip():
        return (grader.value("abstention", 1.0, ()),)
    asked = {"question": material.question, "answer": material.answer}
    opinion = await grader.reply("abstention", asked, AbstentionReply)
    says = opinion.says
    if isinstance(says, NotJudged):
        return _failed(grader, ("abstention",), says, opinion)
    return (grader.value("abstention", float(says.abstained), (opinion,), reasoning=says.reasoning),)


async def _recency_conflict(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    names = ("recency_conflict",)
    if gap := material.gap(passages=True) or ("" if material.rule else "the case has no recency_conflict_rule"):
        return _nothing(grader, names, gap)
    whole = material.of_passages()
    asked = {**{key: whole[key] for key in ("question", "answer", "passages")}, "rule": material.rule}
    opinion = await grader.reply("recency_conflict", asked, RecencyConflictReply)
    says = opinion.says
    if isinstance(says, NotJudged):
        return _failed(grader, names, says, opinion)
    return (grader.value("recency_conflict", float(says.follows_rule), (opinion,), reasoning=says.reasoning),)


async def _context_relevancy(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    """Return the share of the retrieved passages that help; the answer has no say."""
    names = ("context_relevancy",)
    if gap := material.no_passages():
        return _nothing(grader, names, gap)
    opinion = await grader.reply("context_relevancy", material.of_passages(answered=False), ContextRelevancyReply)
    says = opinion.says
    if isinstance(says, NotJudged):
        return _failed(grader, names, says, opinion)
    if problem := says.contradiction(len(material.passages)):
        return _failed(grader, names, NotJudged(reason="unusable_score", detail=problem), opinion)
    share = len(says.helpful_passages) / len(material.passages)
    return (grader.value("context_relevancy", share, (opinion,), reasoning=says.reasoning),)


async def _retrieval_labels(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    """Return for each label the share of the passages that have it, and which; the answer has no say."""
    names = LABELS["retrieval"]
    if gap := material.no_passages():
        return _nothing(grader, names, gap)
    opinion = await grader.reply("retrieval_labels", material.of_passages(answered=False), RetrievalLabelsReply)
    says = opinion.says
    if isinstance(says, NotJudged):
        return _failed(grader, names, says, opinion)
    total = len(material.passages)
    if problem := says.contradiction(total):
        return _failed(grader, names, NotJudged(reason="unusable_score", detail=problem), opinion)
    numbers = {label: tuple(sorted(getattr(says, label))) for label in names}
    return tuple(
        grader.value(label, len(having) / total, (opinion,), reasoning=says.reasoning, passages=having)
        for label, having in numbers.items()
    )


async def _grounding_labels(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    if gap := material.gap(passages=True, refusals=True):
        return _nothing(grader, LABELS["grounding"], gap)
    opinion = await grader.reply("grounding_labels", material.of_passages(), GroundingLabelsReply)
    says = opinion.says
    if isinstance(says, GroundingLabelsReply) and (problem := says.contradiction()):
        return _failed(grader, LABELS["grounding"], NotJudged(reason="unusable_score", detail=problem), opinion)
    return _labels(grader, "grounding", opinion)


async def _generation_labels(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    if gap := material.gap(refusals=True):
        return _nothing(grader, LABELS["generation"], gap)
    asked = {"question": material.question, "answer": material.answer, "answerable": material.answerable}
    return _labels(grader, "generation", await grader.reply("generation_labels", asked, GenerationLabelsReply))


def _labels(
    grader: Grader, task: Task, opinion: Opinion[GroundingLabelsReply] | Opinion[GenerationLabelsReply]
) -> tuple[Judgement, ...]:
    says = opinion.says
    if isinstance(says, NotJudged):
        return _failed(grader, LABELS[task], says, opinion)
    return tuple(
        grader.value(label, float(getattr(says, label)), (opinion,), reasoning=says.reasoning) for label in LABELS[task]
    )


def _nothing(grader: Grader, scores: tuple[str, ...], gap: str) -> tuple[Judgement, ...]:
    return tuple(grader.none(score, NotJudged(reason="nothing_to_judge", detail=gap)) for score in scores)


def _failed(
    grader: Grader, scores: tuple[str, ...], problem: NotJudged, opinion: Opinion[ReplyFormat]
) -> tuple[Judgement, ...]:
    return tuple(grader.none(score, problem, (opinion,)) for score in scores)


WHOLE = Family(claims.SCORES, _groundedness, {"groundedness": GroundednessReply})
EACH = Family(claims.SCORES, claims.by_claim, claims.RUBRICS)
"""Groundedness and faithfulness of the answer as a whole, or claim by claim (`judges.claims: each`)."""

_OTHERS = (
    Family(("correctness",), _correctness, {"correctness": CorrectnessReply}),
    Family(("abstention",), _abstention, {"abstention": AbstentionReply}),
    Family(("recency_conflict",), _recency_conflict, {"recency_conflict": RecencyConflictReply}),
    Family(("context_relevancy",), _context_relevancy, {"context_relevancy": ContextRelevancyReply}),
    Family(LABELS["retrieval"], _retrieval_labels, {"retrieval_labels": RetrievalLabelsReply}),
    Family(LABELS["grounding"], _grounding_labels, {"grounding_labels": GroundingLabelsReply}),
    Family(LABELS["generation"], _generation_labels, {"generation_labels": GenerationLabelsReply}),
)
_NAMED = {f"{task}_labels": labels for task, labels in LABELS.items()}


def names_of(scores: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the judgements that configured scores come to: of a set of labels, each label."""
    return tuple(name for score in scores for name in _NAMED.get(score, (score,)))


def configured(score: str) -> str:
    """Return what a configuration names to have a score judged: of a label, its set."""
    return next((name for name, labels in _NAMED.items() if score in labels), score)


def families(scores: tuple[str, ...], *, each_claim: bool) -> tuple[Family, ...]:
    """Return what must be judged for the scores that the configuration names."""
    wanted = set(names_of(scores))
    return tuple(family for family in (EACH if each_claim else WHOLE, *_OTHERS) if wanted & set(family.scores))
