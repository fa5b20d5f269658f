"""Judging a run: its answers, and the canary set and the spot check that say what judges are worth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from raggate.base.jsonio import JsonObject
from raggate.base.numbers import lot
from raggate.config.judge_settings import MIN_COVERAGE, JudgedScore
from raggate.judges import canary as canaries
from raggate.judges.canary import CanarySet
from raggate.judges.grader import Grader
from raggate.judges.prompts import Material, material_of
from raggate.judges.scores import Panel, names_of, templates_of
from raggate.judges.session import Asker, Bench
from raggate.models.judging import (
    Canary,
    Coverage,
    Judgement,
    JudgeModel,
    JudgingSummary,
    Parameters,
    SpotCheck,
    disagree,
)
from raggate.models.run import LabelledResult

Judgements = tuple[tuple[Judgement, ...], ...]
"""By answer, in the order of the answers."""


def sample(names: Sequence[str], judgements: Sequence[Sequence[Judgement]], n: int, seed: int) -> tuple[int, ...]:
    """Draw answers that have a value: their positions, at most n.

    They are the same ones for the same seed, but for as many as there are answers more or less: a cassette then holds
    the second opinions of nearly all of them.
    """
    valued = [place for place, given in enumerate(judgements) if any(item.value is not None for item in given)]
    return tuple(sorted(sorted(valued, key=lambda place: lot(str(seed), names[place]))[:n]))


def _disagrees(first: Sequence[Judgement], second: Sequence[Judgement]) -> bool | None:
    """Return whether any score differs, by more than a point or as yes and no; None if no score has two values."""
    others = {judgement.score: judgement.value for judgement in second}
    pairs = [
        (judgement.score, judgement.value, other)
        for judgement in first
        if judgement.value is not None and (other := others.get(judgement.score)) is not None
    ]
    return any(disagree(*pair) for pair in pairs) if pairs else None


class SpotPlan(Struct, frozen=True, kw_only=True):
    """How many answers are judged twice, by which seed they are drawn, and by whom; None for the first judge again."""

    n: int
    seed: int = 0
    model: JudgeModel | None = None


class Plan(Struct, frozen=True, kw_only=True):
    """Who judges what."""

    models: tuple[JudgeModel, ...]
    parameters: Parameters
    scores: tuple[JudgedScore, ...]
    each_claim: bool = False
    min_coverage: float = MIN_COVERAGE
    canary: CanarySet | None = None
    spot: SpotPlan | None = None

    def panel(self, ask: Asker) -> Panel:
        """Return the judges of the answers."""
        graders = tuple(Grader(ask=ask, model=model, parameters=self.parameters) for model in self.models)
        return Panel(graders=graders, scores=self.scores, each_claim=self.each_claim)


class JudgedRun(Struct, frozen=True, kw_only=True):
    """What judging came to: the judgements of each answer, in the order of the answers, and how it went."""

    judgements: Judgements
    summary: JudgingSummary


async def judge_run(
    items: Sequence[LabelledResult],
    plan: Plan,
    askers: Bench,
    on_item: Callable[[int], None] = lambda _: None,
) -> JudgedRun:
    """Judge the answers of a run, and the judges.

    The canary set is asked anew as soon as a call was made, for an answer or a case of its own: replies of another day
    say nothing of the server of today. Where all came from the cassette, the canary does too.
    """
    materials = [material_of(item) for item in items]
    panel = plan.panel(askers.first)
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
    spot = await _spot_check(plan, askers.first, names, materials, judgements)
    summary = JudgingSummary(
        min_coverage=plan.min_coverage,
        scores={name: Coverage.of(name, judgements) for name in names_of(plan.scores)},
        canary=await _canary(plan, askers),
        spot_check=spot,
    )
    return JudgedRun(judgements=judgements, summary=summary)


async def _spot_check(
    plan: Plan, ask: Asker, names: Sequence[str], materials: Sequence[Material], judgements: Judgements
) -> SpotCheck | None:
    """Have another model, or the first one with the other wording, judge a sample once more."""
    spot = plan.spot
    if spot is None:
        return None
    again = Grader(
        ask=ask,
        model=spot.model or plan.models[0],
        parameters=plan.parameters,
        frame="second" if spot.model is None else "first",
    )
    second = Panel(graders=(again,), scores=plan.scores, each_claim=plan.each_claim)
    places = sample(names, judgements, spot.n, spot.seed)
    opinions = await asyncio.gather(*(second.grade(materials[place]) for place in places))
    outcomes = [_disagrees(judgements[place], other) for place, other in zip(places, opinions, strict=True)]
    told = [outcome for outcome in outcomes if outcome is not None]
    return SpotCheck(
        disagreement_rate=sum(told) / len(told) if told else None,
        spot_check_n=len(told),
        by=spot.model.name if spot.model is not None else "",
    )


async def _canary(plan: Plan, askers: Bench) -> Canary | None:
    if plan.canary is None:
        return None
    scores = None if askers.called() else await canaries.agreement(plan.canary.cases, plan.panel(askers.first))
    # where the cassette held a part of it, all of it is asked: what was called for now is not called for twice
    replayed = not askers.called()
    if scores is None or not replayed:
        scores = await canaries.agreement(plan.canary.cases, plan.panel(askers.fresh))
    # where nobody could be asked and the cassette held no case, nobody has answered
    replayed = replayed and any(agreement.judged for agreement in scores.values())
    return Canary(hash=plan.canary.hash, floor=plan.canary.floor, scores=scores, replayed=replayed)


def identity(plan: Plan) -> JsonObject:
    """Return what must be the same for the scores of two runs to be comparable: judges, prompts, parameters."""
    parameters = plan.parameters
    templates = templates_of(plan.scores, each_claim=plan.each_claim)
    return {
        "models": [dict(model.identity) for model in plan.models],
        "prompts": templates,
        "scores": list(plan.scores),
        "temperature": parameters.temperature,
        "seed": parameters.seed,
        "max_tokens": parameters.max_tokens,
        "constrained": [model.json_schema for model in plan.models],
        "claims": "each" if plan.each_claim else "whole",
    }
