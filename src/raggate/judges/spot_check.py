"""A seeded sample of the answers, judged once more: by a second model, or by the same one with another wording."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from raggate.judges.material import Material
from raggate.judges.panel import Panel
from raggate.models.judging import Judgement
from raggate.models.judging_quality import SpotCheck, disagree
from raggate.text.lots import lot


def sample(names: Sequence[str], judgements: Sequence[Sequence[Judgement]], n: int, seed: int) -> tuple[int, ...]:
    """Draw answers that have a value: their positions, at most n.

    They are the same ones for the same seed, but for as many as there are answers more or less: a cassette then holds
    the second opinions of nearly all of them.

    Args:
        names: of the answers, each once.
        judgements: what the judges said of each.
        n: how many answers at most.
        seed: of the sample.
    """
    valued = [place for place, given in enumerate(judgements) if any(item.value is not None for item in given)]
    if len(valued) <= n:
        return tuple(valued)
    return tuple(sorted(sorted(valued, key=lambda place: lot(str(seed), names[place]))[:n]))


async def spot_check(
    names: Sequence[str],
    materials: Sequence[Material],
    judgements: Sequence[Sequence[Judgement]],
    second: Panel,
    *,
    n: int,
    seed: int,
) -> SpotCheck:
    """Judge a sample once more and compare.

    An answer disagrees when any of its scores does: by more than a point, or as yes and no. Answers of which the second
    opinion has no value tell nothing.

    Args:
        names: of the answers, each once.
        materials: the answers, in the same order.
        judgements: what the judges said of each, in the same order.
        second: who judges once more.
        n: how many answers at most.
        seed: of the sample.
    """
    places = sample(names, judgements, n, seed)
    again = await asyncio.gather(*(second.grade(materials[place]) for place in places))
    outcomes = [_disagrees(judgements[place], other) for place, other in zip(places, again, strict=True)]
    disagreements = [outcome for outcome in outcomes if outcome is not None]
    first = second.graders[0]
    return SpotCheck(
        disagreement_rate=sum(disagreements) / len(disagreements) if disagreements else None,
        spot_check_n=len(disagreements),
        by=first.model.name if first.frame == "first" else "",
    )


def _disagrees(first: Sequence[Judgement], second: Sequence[Judgement]) -> bool | None:
    """Say whether two opinions of an answer differ; None where no score has two values."""
    others = {judgement.score: judgement.value for judgement in second}
    pairs = [
        (judgement.score, judgement.value, other)
        for judgement in first
        if judgement.value is not None and (other := others.get(judgement.score)) is not None
    ]
    return any(disagree(*pair) for pair in pairs) if pairs else None
