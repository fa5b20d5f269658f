"""What judges score: an answer's material in, a judgement for every score out.

Scores that follow from the same reply are a family: it is asked for once. What cannot be judged, because there is no
answer or nothing to hold it against, costs no call.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.judges.grader import Grader
from raggate.judges.prompts import Material, Need, template
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
from raggate.models.judging import LABELS, NOT_ASKED, Judgement, NotJudged, NotJudgedReason, Usage, scale_of

MOST_CLAIMS = 60
"""Claims of one answer that are judged. An answer of more is not judged."""

SCORES = ("groundedness", "faithfulness")
Judged = Sequence[tuple[Claim, ClaimVerdict]]
Values = Iterable[tuple[float | None, dict[str, Any]]]
"""The value of each score of a family, None if there is nothing to judge, with the texts of its judgement."""

_NAMED = {f"{task}_labels": labels for task, labels in LABELS.items()}


class Family(Struct, frozen=True):
    """Scores that follow from one reply: what it takes to ask for it, and what of the material a judge is shown."""

    scores: tuple[str, ...]
    rubric: str
    expected: type[ReplyFormat]
    needs: tuple[Need, ...]
    shown: tuple[str, ...]
    values: Callable[[Any, Material], Values]

    @property
    def rubrics(self) -> Mapping[str, type[ReplyFormat]]:
        """The rubrics that it asks by, with the replies they ask for."""
        return {self.rubric: self.expected}

    async def judge(self, grader: Grader, material: Material) -> tuple[Judgement, ...]:
        """Return a judgement for each score."""
        if gap := material.gap(self.needs):
            return _none(grader, self.scores, NotJudged(reason="nothing_to_judge", detail=gap))
        if self.expected is AbstentionReply and not material.answer.strip():
            # nobody is asked whether nothing is an answer
            return (grader.value("abstention", 1.0, ()),)
        opinion = await grader.reply(self.rubric, material.shown(*self.shown), self.expected)
        says = opinion.says
        if isinstance(says, NotJudged):
            return _none(grader, self.scores, says, (opinion,))
        if problem := says.contradiction(cites=material.cites, passages=len(material.passages)):
            return _none(grader, self.scores, NotJudged(reason="unusable_score", detail=problem), (opinion,))
        return tuple(_judgements(grader, self.scores, self.values(says, material), opinion))


def _judgements(
    grader: Grader, scores: Sequence[str], values: Values, opinion: Opinion[ReplyFormat]
) -> Iterator[Judgement]:
    for score, (value, texts) in zip(scores, values, strict=True):
        if value is None:
            empty = NotJudged(reason="nothing_to_judge", detail="the judge lists no claim of the answer")
            yield grader.none(score, empty, (opinion,))
        else:
            yield grader.value(score, value, (opinion,), **texts)


def _none(
    grader: Grader, scores: Sequence[str], problem: NotJudged, opinions: Sequence[Opinion[Any]] = ()
) -> tuple[Judgement, ...]:
    return tuple(grader.none(score, problem, opinions) for score in scores)


class _ByClaim(Family, frozen=True):
    """Groundedness and faithfulness of an answer that is taken apart, each claim judged alone."""

    @property
    def rubrics(self) -> Mapping[str, type[ReplyFormat]]:
        return {"claims": ClaimsReply, "claim": ClaimReply}

    async def judge(self, grader: Grader, material: Material) -> tuple[Judgement, ...]:
        if gap := material.gap(self.needs):
            return _none(grader, SCORES, NotJudged(reason="nothing_to_judge", detail=gap))
        listed = await grader.reply("claims", material.shown(*self.shown), ClaimsReply)
        if isinstance(listed.says, NotJudged):
            return _none(grader, SCORES, listed.says, (listed,))
        claims = merged(listed.says.claims)
        if not claims:
            problem = NotJudged(reason="nothing_to_judge", detail="the answer makes no claim")
            return _none(grader, SCORES, problem, (listed,))
        if len(claims) > MOST_CLAIMS:
            detail = f"the answer makes {len(claims)} claims, and at most {MOST_CLAIMS} are judged one by one"
            return _none(grader, SCORES, NotJudged(reason="unusable_score", detail=detail), (listed,))
        passages = material.shown("passages")
        opinions = await asyncio.gather(
            *(grader.reply("claim", {"claim": claim.claim, **passages}, ClaimReply) for claim in claims)
        )
        judged: list[tuple[Claim, ClaimVerdict]] = []
        for claim, opinion in zip(claims, opinions, strict=True):
            if isinstance(opinion.says, NotJudged):
                return _none(grader, SCORES, opinion.says, (listed, *opinions))
            judged.append((claim, opinion.says.verdict))
        supported = tuple(claim.claim for claim, verdict in judged if verdict == "supported")
        unsupported = tuple(claim.claim for claim, verdict in judged if verdict != "supported")
        values = groundedness_of(judged, cites=material.cites), len(supported) / len(judged)
        return tuple(
            grader.value(score, value, (listed, *opinions), supported=supported, unsupported=unsupported)
            for score, value in zip(SCORES, values, strict=True)
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


def _groundedness(says: GroundednessReply, _: Material) -> Values:
    """The score as given; faithfulness is the share of the listed claims that are supported."""
    supported, unsupported = each_once(says.supported_claims), each_once(says.unsupported_claims)
    texts = {"reasoning": says.reasoning, "supported": supported, "unsupported": unsupported}
    total = len(supported) + len(unsupported)
    return (float(says.score), texts), (len(supported) / total if total else None, texts)


def _grade(*keys: str) -> Callable[[Any, Material], Values]:
    """Return what takes keys of a reply as the values, numbers or yes and no."""
    return lambda says, _: [(float(getattr(says, key)), {"reasoning": says.reasoning}) for key in keys]


def _helpful(says: ContextRelevancyReply, material: Material) -> Values:
    return [(len(says.helpful_passages) / len(material.passages), {"reasoning": says.reasoning})]


def _shares(says: RetrievalLabelsReply, material: Material) -> Values:
    """The share of the passages that have each label, and which."""
    for label in LABELS["retrieval"]:
        having = tuple(sorted(getattr(says, label)))
        yield len(having) / len(material.passages), {"reasoning": says.reasoning, "passages": having}


_ANSWERED: tuple[Need, ...] = ("answer", "no refusal")
_FROM_PASSAGES: tuple[Need, ...] = (*_ANSWERED, "passages")
_QA, _QP, _QAP = ("question", "answer"), ("question", "passages"), ("question", "answer", "passages")
_CITED = ("question", "answer", "references")
_RETRIEVAL, _GROUNDING, _GENERATION = LABELS["retrieval"], LABELS["grounding"], LABELS["generation"]

WHOLE = Family(SCORES, "groundedness", GroundednessReply, _FROM_PASSAGES, (*_CITED, "passages"), _groundedness)
EACH = _ByClaim(SCORES, "claims", ClaimsReply, _FROM_PASSAGES, _CITED, _groundedness)
"""Groundedness and faithfulness of the answer as a whole, or claim by claim (`judges.claims: each`)."""

_OTHERS = (
    Family(
        ("correctness",), "correctness", CorrectnessReply, _ANSWERED, (*_QAP, "expected_key_facts"), _grade("score")
    ),
    Family(("abstention",), "abstention", AbstentionReply, (), _QA, _grade("abstained")),
    Family(
        ("recency_conflict",),
        "recency_conflict",
        RecencyConflictReply,
        (*_FROM_PASSAGES, "rule"),
        (*_QAP, "rule"),
        _grade("follows_rule"),
    ),
    Family(("context_relevancy",), "context_relevancy", ContextRelevancyReply, ("passages",), _QP, _helpful),
    Family(_RETRIEVAL, "retrieval_labels", RetrievalLabelsReply, ("passages",), _QP, _shares),
    Family(
        _GROUNDING,
        "grounding_labels",
        GroundingLabelsReply,
        ("answer", "passages"),
        (*_CITED, "passages"),
        _grade(*_GROUNDING),
    ),
    Family(
        _GENERATION,
        "generation_labels",
        GenerationLabelsReply,
        ("answer",),
        (*_QA, "answerable"),
        _grade(*_GENERATION),
    ),
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
    """Who grades what."""

    graders: tuple[Grader, ...]
    scores: tuple[str, ...]
    each_claim: bool = False

    async def grade(self, material: Material) -> tuple[Judgement, ...]:
        """Grade one answer: a judgement for each score, in the order of the scores."""
        votes = await asyncio.gather(*(self._votes(grader, material) for grader in self.graders))
        names = names_of(self.scores)
        if len(votes) == 1:
            return _paid_once([votes[0][name] for name in names])
        return _paid_once([combined([vote[name] for vote in votes]) for name in names])

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


def combined(votes: Sequence[Judgement]) -> Judgement:
    """Return what a panel says of one score.

    More than half of the judges must have judged. Points are the median, of an even number the mean of the two in the
    middle. A yes or no is the grade that more than half of those who judged gave; without one there is no value.
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
    value = _majority(values) if scale_of(whole.score) == "yes_no" else float(median(values))
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
