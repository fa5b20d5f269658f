"""Several judges, or one: what each says of an answer, and what they say together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.judge_settings import Combine
from raggate.judges.grader import Grader
from raggate.judges.material import Material
from raggate.judges.prompts import template
from raggate.judges.scores import families, names_of
from raggate.models.judging import NOT_ASKED, Judgement, NotJudgedReason, Usage
from raggate.models.judging_quality import scale_of


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
