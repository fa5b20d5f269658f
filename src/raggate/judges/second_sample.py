"""Grades that moved since the baseline, given once more by the same judges: such a grade is the mean of both.

Those that rose too, or judges that roll dice would only be asked again where that does a change good. No others: what
has not moved decides nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from raggate.judges.material import Material
from raggate.judges.panel import Panel
from raggate.models.judging import Judgement
from raggate.models.judging_quality import SecondSamples
from raggate.models.run import LabelledResult

Earlier = Mapping[tuple[str, str, str], Mapping[str, float]]
"""Grades of the baseline: by mode, id and hash of a case, and by score; where it was asked several times, the mean."""

Judgements = tuple[tuple[Judgement, ...], ...]
"""By answer, in the order of the answers."""

LEAST_MOVE = 1e-6
"""A baseline keeps six decimals: up to this, a grade is the same."""


def moved(items: Sequence[LabelledResult], judgements: Judgements, earlier: Earlier) -> list[tuple[str, ...]]:
    """Give by answer the scores whose grade is not the baseline's.

    Of a question that was asked several times it is the mean that moves, and with it every answer that has a grade.
    What has none now, or had none then, has not moved.
    """
    given: dict[tuple[tuple[str, str, str], str], list[float]] = {}
    keys = [(item.result.mode, item.case.id, item.case.hash) for item in items]
    for key, answer in zip(keys, judgements, strict=True):
        for judgement in answer:
            if judgement.value is not None:
                given.setdefault((key, judgement.score), []).append(judgement.value)
    changed = {
        (key, score)
        for (key, score), values in given.items()
        if (before := earlier.get(key, {}).get(score)) is not None and abs(fmean(values) - before) > LEAST_MOVE
    }
    return [
        tuple(item.score for item in answer if item.value is not None and (key, item.score) in changed)
        for key, answer in zip(keys, judgements, strict=True)
    ]


async def sampled_again(
    materials: Sequence[Material],
    judgements: Judgements,
    scores: Sequence[tuple[str, ...]],
    again: Callable[[tuple[str, ...]], Panel],
) -> tuple[Judgements, SecondSamples]:
    """Grade once more what has moved.

    Args:
        materials: the answers.
        judgements: what the judges said of each, in the same order.
        scores: by answer, what is graded once more.
        again: gives who grades these scores again.

    Returns:
        The judgements, with both samples where there are two, and how many there are.
    """

    async def one(material: Material, first: tuple[Judgement, ...], names: tuple[str, ...]) -> tuple[Judgement, ...]:
        if not names:
            return first
        second = {judgement.score: judgement for judgement in await again(names).grade(material)}
        return tuple(_both(item, second[item.score]) if item.score in second else item for item in first)

    whole = tuple(await asyncio.gather(*map(one, materials, judgements, scores)))
    pairs = [judgement.samples for answer in whole for judgement in answer if judgement.samples]
    graded = [(first.value, second.value) for first, second in pairs if second.value is not None]
    return whole, SecondSamples(
        moved=len(pairs), graded=len(graded), differed=sum(first != second for first, second in graded)
    )


def _both(first: Judgement, second: Judgement) -> Judgement:
    """Give the mean of two samples; where the second has no value, the first stands."""
    return replace(
        first,
        value=fmean(sample.value for sample in (first, second) if sample.value is not None),
        keys=(*first.keys, *second.keys),
        usage=first.usage + second.usage,
        samples=(first, second),
    )
