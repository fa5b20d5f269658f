"""Grades on which a verdict hangs, given once more by the same judges: such a grade is the mean of both.

Those that moved since the baseline, and all of a mean that is near its floor. Those that rose too, and those above the
floor: else judges that roll dice would only be asked again where that does a change good. No others decide anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from msgspec.structs import replace

from raggate.judges.material import Material
from raggate.judges.panel import Panel
from raggate.models.judging import Judgement
from raggate.models.judging_quality import SecondSamples, highest
from raggate.models.run import LabelledResult
from raggate.scoring.metrics import METRICS

Earlier = Mapping[tuple[str, str, str], Mapping[str, float]]
"""Grades of the baseline: by mode, id and hash of a case, and by score; where it was asked several times, the mean."""

Judgements = tuple[tuple[Judgement, ...], ...]
"""By answer, in the order of the answers."""

NEAR = 0.05
"""A mean is near its floor up to this share of the scale away from it, on either side."""

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


def near_floors(
    items: Sequence[LabelledResult], judgements: Judgements, floors: Mapping[str, float]
) -> list[tuple[str, ...]]:
    """Give by answer the scores of which the mean, in the mode of the answer, is near what it must not fall below.

    Args:
        items: the answers.
        judgements: what the judges said of each, in the same order.
        floors: by judged metric.
    """
    graded = [replace(item, judgements=answer) for item, answer in zip(items, judgements, strict=True)]
    near = {
        (mode, METRICS[metric].judged)
        for metric, floor in floors.items()
        for mode in {item.result.mode for item in items}
        if _is_near(metric, floor, [item for item in graded if item.result.mode == mode])
    }
    return [
        tuple(
            judgement.score
            for judgement in item.judgements
            if judgement.value is not None and (item.result.mode, judgement.score) in near
        )
        for item in graded
    ]


def _is_near(metric: str, floor: float, items: Sequence[LabelledResult]) -> bool:
    values = [value for value in map(METRICS[metric].function, items) if value is not None]
    return bool(values) and abs(fmean(values) - floor) <= NEAR * highest(METRICS[metric].judged) + LEAST_MOVE


async def sampled_again(
    materials: Sequence[Material],
    judgements: Judgements,
    scores: Sequence[tuple[str, ...]],
    near: Sequence[tuple[str, ...]],
    again: Callable[[tuple[str, ...]], Panel],
) -> tuple[Judgements, SecondSamples]:
    """Grade once more what has moved, and what is near a floor.

    Args:
        materials: the answers.
        judgements: what the judges said of each, in the same order.
        scores: by answer, what has moved.
        near: by answer, what is near a floor.
        again: gives who grades these scores again.

    Returns:
        The judgements, with both samples where there are two, and how many there are.
    """

    async def twice(material: Material, first: tuple[Judgement, ...], names: tuple[str, ...]) -> tuple[Judgement, ...]:
        if not names:
            return first
        second = {judgement.score: judgement for judgement in await again(names).grade(material)}
        return tuple(_both(item, second[item.score]) if item.score in second else item for item in first)

    wanted = [tuple(dict.fromkeys((*names, *others))) for names, others in zip(scores, near, strict=True)]
    whole = tuple(await asyncio.gather(*map(twice, materials, judgements, wanted)))
    pairs = [judgement.samples for answer in whole for judgement in answer if judgement.samples]
    graded = [(first.value, second.value) for first, second in pairs if second.value is not None]
    changed = sum(map(len, scores))
    return whole, SecondSamples(
        moved=changed,
        graded=len(graded),
        differed=sum(first != second for first, second in graded),
        near=len(pairs) - changed,
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
