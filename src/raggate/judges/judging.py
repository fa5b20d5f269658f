"""Judging a run: its answers, and the canary set and the spot check that say what judges are worth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.jsonio import JsonObject
from raggate.base.numbers import lot
from raggate.config.judge_settings import MAX_TOKENS, Judges
from raggate.judges.canary import CanarySet, agreement
from raggate.judges.grader import Grader
from raggate.judges.prompts import Material, material_of
from raggate.judges.scores import Panel, names_of, templates_of
from raggate.judges.session import Asker, Bench
from raggate.models.judging import (
    SEED,
    TEMPERATURE,
    Canary,
    Coverage,
    Judgement,
    JudgingSummary,
    SpotCheck,
    disagree,
)
from raggate.models.run import LabelledResult

Judgements = tuple[tuple[Judgement, ...], ...]
"""By answer, in the order of the answers."""


def sample(names: Sequence[str], judgements: Sequence[Sequence[Judgement]], n: int) -> tuple[int, ...]:
    """Draw answers that have a value: their positions, at most n.

    They are the same ones each time, but for as many as there are answers more or less: a cassette then holds the
    second opinions of nearly all of them.
    """
    valued = [place for place, given in enumerate(judgements) if any(item.value is not None for item in given)]
    return tuple(sorted(sorted(valued, key=lambda place: lot("0", names[place]))[:n]))


def _disagrees(first: Sequence[Judgement], second: Sequence[Judgement]) -> bool | None:
    """Return whether any score differs, by more than a point or as yes and no; None if no score has two values."""
    others = {judgement.score: judgement.value for judgement in second}
    pairs = [
        (judgement.score, judgement.value, other)
        for judgement in first
        if judgement.value is not None and (other := others.get(judgement.score)) is not None
    ]
    return any(disagree(*pair) for pair in pairs) if pairs else None


def panel_of(settings: Judges, ask: Asker) -> Panel:
    """Return the judges of the answers."""
    graders = tuple(Grader(ask=ask, model=model) for model in settings.models)
    return Panel(graders=graders, scores=tuple(settings.scores), each_claim=settings.claims == "each")


class JudgedRun(Struct, frozen=True, kw_only=True):
    """What judging came to: the judgements of each answer, in the order of the answers, and how it went."""

    judgements: Judgements
    summary: JudgingSummary


async def judge_run(
    items: Sequence[LabelledResult],
    settings: Judges,
    canary: CanarySet | None,
    askers: Bench,
    on_item: Callable[[int], None] = lambda _: None,
) -> JudgedRun:
    """Judge the answers of a run, and the judges.

    The canary set is asked anew as soon as a call was made, for an answer or a case of its own: replies of another day
    say nothing of the server of today. Where all came from the cassette, the canary does too.
    """
    materials = [material_of(item) for item in items]
    panel = panel_of(settings, askers.first)
    done = 0

    async def judgements_of(material: Material) -> tuple[Judgement, ...]:
        nonlocal done
        graded = await panel.grade(material)
        done += 1
        on_item(done)
        return graded

    judgements = tuple(await asyncio.gather(*map(judgements_of, materials)))
    names = [f"{item.result.mode}|{item.case.id}|{item.result.repeat}" for item in items]
    # before the canary set, which is asked anew as soon as any call was made
    places = sample(names, judgements, settings.spot_check)
    spot = await _spot_check(settings, panel, [(materials[place], judgements[place]) for place in places])
    summary = JudgingSummary(
        scores={name: Coverage.of(name, judgements) for name in names_of(panel.scores)},
        canary=await _canary(settings, canary, askers) if canary is not None else None,
        spot_check=spot if settings.spot_check else None,
    )
    return JudgedRun(judgements=judgements, summary=summary)


async def _spot_check(
    settings: Judges, panel: Panel, sampled: Sequence[tuple[Material, tuple[Judgement, ...]]]
) -> SpotCheck:
    """Have another model, or the first one with the other wording, judge a sample once more."""
    if settings.spot_model is None:
        again = replace(panel.graders[0], frame="second")
    else:
        again = replace(panel.graders[0], model=settings.spot_model)
    second = replace(panel, graders=(again,))
    opinions = await asyncio.gather(*(second.grade(material) for material, _ in sampled))
    outcomes = [_disagrees(first, other) for (_, first), other in zip(sampled, opinions, strict=True)]
    told = [outcome for outcome in outcomes if outcome is not None]
    return SpotCheck(
        disagreement_rate=sum(told) / len(told) if told else None,
        spot_check_n=len(told),
        by=again.model.model if settings.spot_model is not None else "",
    )


async def _canary(settings: Judges, canary: CanarySet, askers: Bench) -> Canary:
    scores = None if askers.called() else await agreement(canary.cases, panel_of(settings, askers.first))
    # where the cassette held a part of it, all of it is asked: what was called for now is not called for twice
    replayed = not askers.called()
    if scores is None or not replayed:
        scores = await agreement(canary.cases, panel_of(settings, askers.fresh))
    # where nobody could be asked and the cassette held no case, nobody has answered
    replayed = replayed and any(agreed.judged for agreed in scores.values())
    return Canary(hash=canary.hash, scores=scores, replayed=replayed)


def identity(settings: Judges) -> JsonObject:
    """Return what must be the same for the scores of two runs to be comparable: judges, prompts, parameters."""
    return {
        "models": [model.identity for model in settings.models],
        "prompts": templates_of(tuple(settings.scores), each_claim=settings.claims == "each"),
        "scores": list(settings.scores),
        "temperature": TEMPERATURE,
        "seed": SEED,
        "max_tokens": MAX_TOKENS,
        "constrained": [model.json_schema for model in settings.models],
        "claims": settings.claims,
    }
