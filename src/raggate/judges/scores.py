"""What judges score: an answer's material in, a judgement for every score out.

Scores that follow from the same reply are a family: it is asked for once. What cannot be judged, because there is no
answer or nothing to hold it against, costs no call.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.judge_settings import Combine
from raggate.judges.grader import Grader
from raggate.judges.prompts import Material, template
from raggate.judges.replies import (
    AbstentionReply,
    Claim,
    ClaimReply,
    ClaimsReply,
    ClaimVerdict,
    ContextRelevancyReply,
    CorrectnessReply,
    GenerationLabelsReply,
    GroundednessReply,
    GroundingLabelsReply,
    RecencyConflictReply,
    ReplyFormat,
    RetrievalLabelsReply,
    each_once,
    same_claim,
)
from raggate.judges.session import Opinion
from raggate.labels.models import LABELS, Task
from raggate.models.judging import NOT_ASKED, Judgement, NotJudged, NotJudgedReason, Usage, scale_of

MOST_CLAIMS = 60
"""Claims of one answer that are judged. An answer of more is not judged."""

SCORES = ("groundedness", "faithfulness")
RUBRICS: Mapping[str, type[ReplyFormat]] = {"claims": ClaimsReply, "claim": ClaimReply}
Judged = Sequence[tuple[Claim, ClaimVerdict]]


Judge = Callable[[Grader, Material], Awaitable[tuple[Judgement, ...]]]
_NAMED = {f"{task}_labels": labels for task, labels in LABELS.items()}


async def by_claim(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    """Have an answer taken apart, each claim judged alone, and give groundedness and faithfulness."""
    if gap := material.gap(passages=True):
        return _none(grader, NotJudged(reason="nothing_to_judge", detail=gap))
    whole = material.of_passages()
    asked = {key: whole[key] for key in ("question", "answer", "references")}
    listed = await grader.reply("claims", asked, ClaimsReply)
    if isinstance(listed.says, NotJudged):
        return _none(grader, listed.says, (listed,))
    claims = merged(listed.says.claims)
    if not claims:
        return _none(grader, NotJudged(reason="nothing_to_judge", detail="the answer makes no claim"), (listed,))
    if len(claims) > MOST_CLAIMS:
        detail = f"the answer makes {len(claims)} claims, and at most {MOST_CLAIMS} are judged one by one"
        return _none(grader, NotJudged(reason="unusable_score", detail=detail), (listed,))
    passages = whole["passages"]
    opinions = await asyncio.gather(
        *(grader.reply("claim", {"claim": claim.claim, "passages": passages}, ClaimReply) for claim in claims)
    )
    for opinion in opinions:
        if isinstance(opinion.says, NotJudged):
            return _none(grader, opinion.says, (listed, *opinions))
    judged = [
        (claim, opinion.says.verdict)
        for claim, opinion in zip(claims, opinions, strict=True)
        if isinstance(opinion.says, ClaimReply)
    ]
    supported = tuple(claim.claim for claim, verdict in judged if verdict == "supported")
    unsupported = tuple(claim.claim for claim, verdict in judged if verdict != "supported")
    texts = {"supported": supported, "unsupported": unsupported}
    return (
        grader.value("groundedness", groundedness_of(judged, cites=material.cites), (listed, *opinions), **texts),
        grader.value("faithfulness", len(supported) / len(judged), (listed, *opinions), **texts),
    )


def merged(claims: Sequence[Claim]) -> list[Claim]:
    """Return every claim once, and no blank one: major where it is so anywhere, cited where it is so everywhere."""
    by_text: dict[str, list[Claim]] = {}
    for claim in claims:
        by_text.setdefault(same_claim(claim.claim), []).append(claim)
    return [
        Claim(claim=same[0].claim, major=any(claim.major for claim in same), cited=all(claim.cited for claim in same))
        for text, same in by_text.items()
        if text
    ]


def groundedness_of(judged: Judged, *, cites: bool) -> float:
    """Return groundedness, 0 to 5, by the scale of the rubric.

    1 as soon as a claim is contradicted; 0 where no passage is about any claim. 5 where all claims are supported and
    all major ones cited, 3 where citations are missing. Else 4 where only minor claims are not supported and all major
    ones are cited, 2 where no major claim is supported, 3 in between.

    Args:
        judged: every claim with its verdict, at least one.
        cites: whether the answer cites anything; without, no claim counts as cited.
    """
    verdicts = {verdict for _, verdict in judged}
    if "contradicted" in verdicts:
        return 1.0
    if verdicts == {"unrelated"}:
        return 0.0
    major = [(claim, verdict) for claim, verdict in judged if claim.major] or judged
    cited = cites and all(claim.cited for claim, _ in major)
    if verdicts == {"supported"}:
        return 5.0 if cited else 3.0
    held = [verdict == "supported" for _, verdict in major]
    if all(held) and cited:
        return 4.0
    return 3.0 if any(verdict in {"supported", "partly_supported"} for _, verdict in major) else 2.0


def _none(
    grader: Grader, problem: NotJudged, opinions: Sequence[Opinion[ClaimsReply] | Opinion[ClaimReply]] = ()
) -> tuple[Judgement, ...]:
    return tuple(grader.none(score, problem, opinions) for score in SCORES)


class Family(Struct, frozen=True):
    """Scores that are judged together: their names, how, and the rubrics with the replies they ask for."""

    scores: tuple[str, ...]
    judge: Judge
    rubrics: Mapping[str, type[ReplyFormat]]


async def _groundedness(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    """Score the answer as a whole; faithfulness is the share of the listed claims that are supported."""
    names = SCORES
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


WHOLE = Family(SCORES, _groundedness, {"groundedness": GroundednessReply})
EACH = Family(SCORES, by_claim, RUBRICS)
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


class Panel(Struct, frozen=True, kw_only=True):
    """Who grades what.

    Attributes:
        graders: one judge, or several.
        scores: what is graded, as the configuration names it.
        combine: how several grades on a scale become one. Yes and no always take a majority.
        each_claim: whether groundedness is judged claim by claim.
    """

    graders: tuple[Grader, ...]
    scores: tuple[str, ...]
    combine: Combine = "median"
    each_claim: bool = False

    async def grade(self, material: Material) -> tuple[Judgement, ...]:
        """Grade one answer: a judgement for each score, in the order of the scores."""
        votes = await asyncio.gather(*(self._votes(grader, material) for grader in self.graders))
        names = names_of(self.scores)
        if len(votes) == 1:
            return _paid_once([votes[0][name] for name in names])
        return _paid_once([combined([vote[name] for vote in votes], self.combine) for name in names])

    async def _votes(self, grader: Grader, material: Material) -> dict[str, Judgement]:
        kinds = families(self.scores, each_claim=self.each_claim)
        graded = await asyncio.gather(*(kind.judge(grader, material) for kind in kinds))
        return {judgement.score: judgement for judgements in graded for judgement in judgements}


def templates_of(scores: tuple[str, ...], *, each_claim: bool) -> dict[str, str]:
    """Return the hash of each rubric's prompt before anything is graded; equal ones make two runs comparable."""
    return {
        rubric: template(rubric, expected)
        for kind in families(scores, each_claim=each_claim)
        for rubric, expected in kind.rubrics.items()
    }


def _paid_once(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Leave what replies took with the first of the scores that follow from them, so that a sum counts it once."""
    paid: set[tuple[str, ...]] = set()
    shown = []
    for judgement in judgements:
        shown.append(replace(judgement, usage=Usage()) if judgement.keys in paid else judgement)
        paid.add(judgement.keys)
    return tuple(shown)


def combined(votes: Sequence[Judgement], how: Combine) -> Judgement:
    """Return what a panel says of one score.

    More than half of the judges must have judged. `median` of an even number is the mean of the two in the middle. A
    `majority` is a grade that more than half of those who judged gave; without one there is no value.
    """
    values = [vote.value for vote in votes if vote.value is not None]
    keys = tuple(key for vote in votes for key in vote.keys)
    whole = Judgement(
        score=votes[0].score,
        value=None,
        keys=keys,
        usage=Usage.total(vote.usage for vote in votes),
        votes=tuple(votes),
    )
    if 2 * len(values) <= len(votes):
        reason, detail = _most_common_problem(votes)
        return replace(whole, reason=reason, detail=f"{len(votes) - len(values)} of {len(votes)} judges: {detail}")
    value = _majority(values) if how == "majority" or scale_of(whole.score) == "yes_no" else float(median(values))
    if value is None:
        return replace(whole, reason="disagreement", detail="no grade has a majority of the judges")
    nearest = min((vote for vote in votes if vote.value is not None), key=lambda vote: abs((vote.value or 0.0) - value))
    return replace(
        whole,
        value=value,
        reasoning=nearest.reasoning,
        supported=nearest.supported,
        unsupported=nearest.unsupported,
    )


def _majority(values: Sequence[float]) -> float | None:
    value, number = Counter(values).most_common(1)[0]
    return value if 2 * number > len(values) else None


def _most_common_problem(votes: Sequence[Judgement]) -> tuple[NotJudgedReason | None, str]:
    """Return why most of those who did not judge did not, of what an answer can bring about if there is any.

    Else one judge without a key would excuse an answer that keeps the others from grading it.
    """
    problems = Counter((vote.reason, vote.detail) for vote in votes if vote.value is None)
    asked = Counter({problem: number for problem, number in problems.items() if problem[0] not in NOT_ASKED})
    return (asked or problems).most_common(1)[0][0]
