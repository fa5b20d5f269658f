"""Answers and judges -> what each judge gives every answer as it is, and changed without any other content."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from raggate.judges.ask import Asker, Opinion
from raggate.judges.grader import Grader
from raggate.judges.material import Material, material_of
from raggate.judges.panel import Panel
from raggate.judges.parse import ReplyFormat
from raggate.judges.scores import configured
from raggate.judges.variants import VARIANTS
from raggate.models.judging import Judgement, JudgeModel, JudgeRequest, Parameters
from raggate.models.judging_bias import AnswerGrades, Variant
from raggate.models.run import LabelledResult
from raggate.text.lots import lot

F = TypeVar("F", bound=ReplyFormat)


class BiasPlan(Struct, frozen=True, kw_only=True):
    """Who is tried, and how.

    Attributes:
        models: the judges, each by itself: what sways one is not to hide behind others.
        parameters: of sampling.
        scores: as the configuration names them.
        each_claim: whether groundedness is judged claim by claim.
        answered_by: gives the model that generated an answer; empty where that is not known.
        seed: what passages are shuffled by.
    """

    models: tuple[JudgeModel, ...]
    parameters: Parameters
    scores: tuple[str, ...]
    answered_by: Callable[[LabelledResult], str]
    each_claim: bool = False
    seed: int = 0

    def label(self, model: JudgeModel) -> str:
        """Give the name that tells a judge from the others: with build and server where another one has the name."""
        names = [other.name for other in self.models]
        return model.name if names.count(model.name) == 1 else f"{model.name} ({model.build}, {model.endpoint})"


def eligible(items: Sequence[LabelledResult]) -> list[LabelledResult]:
    """Give the answers that have a text. Further answers to a question in the same mode are left out."""
    return [
        item
        for item in items
        if item.result.repeat == 1 and item.result.response is not None and (item.result.response.answer or "").strip()
    ]


def draw(items: Sequence[LabelledResult], n: int, seed: int) -> list[LabelledResult]:
    """Draw at most n answers, by the seed: one of each question before a second one of any."""
    order = sorted(items, key=lambda item: lot(str(seed), _name(item)))
    earlier: Counter[str] = Counter()
    turns = []
    for item in order:
        turns.append((earlier[item.case.id], item))
        earlier[item.case.id] += 1
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])[:n]]


async def grade_variants(
    items: Sequence[LabelledResult], plan: BiasPlan, ask: Asker, on_item: Callable[[int], None] = lambda _: None
) -> tuple[AnswerGrades, ...]:
    """Have every judge grade every answer in all variants.

    The answers as they are come first, and then the variants of each together, so that what a budget leaves out are
    whole answers.

    Args:
        items: the answers, with whole texts.
        plan: who is tried.
        ask: asks a judge.
        on_item: takes the number of answers that are graded so far.
    """
    done = 0

    graders = [Grader(ask=ask, model=model, parameters=plan.parameters) for model in plan.models]

    async def grades_of(number: int, item: LabelledResult) -> tuple[AnswerGrades, ...]:
        nonlocal done
        graded = await asyncio.gather(*(_by(grader, number, item, plan) for grader in graders))
        done += 1
        on_item(done)
        return tuple(row for rows in graded for row in rows)

    return tuple(row for rows in await asyncio.gather(*map(grades_of, range(len(items)), items)) for row in rows)


async def _by(grader: Grader, number: int, item: LabelledResult, plan: BiasPlan) -> list[AnswerGrades]:
    material = material_of(item)
    first = await _grade(grader, material, plan, plan.scores)
    judged = {name: judgement for name, judgement in first.items() if judgement.value is not None}
    scores = tuple(dict.fromkeys(map(configured, judged)))
    shown = _shown(material, f"{plan.seed}|{_name(item)}") if scores else {}
    graded = await asyncio.gather(*(_variant(grader, name, shown[name], plan, scores) for name in shown))
    variants = dict(zip(shown, graded, strict=True))
    return [
        AnswerGrades(
            judge=plan.label(grader.model),
            answer=number,
            case_id=item.case.id,
            score=score,
            original=original,
            answered_by=plan.answered_by(item),
            variants={
                name: given[score]
                for name, given in variants.items()
                # a judge that was asked the very same has not seen the variant
                if score in judged and given[score].keys != original.keys
            },
        )
        for score, original in first.items()
    ]


def _shown(material: Material, name: str) -> dict[Variant, Material]:
    """Give the variants that are no other answer's twin: of one passage no order is another one."""
    variants = {variant: change(material, name) for variant, change in VARIANTS.items()}
    return {variant: changed for variant, changed in variants.items() if variant == "again" or changed != material}


async def _variant(
    grader: Grader, variant: Variant, material: Material, plan: BiasPlan, scores: tuple[str, ...]
) -> dict[str, Judgement]:
    marked = replace(grader, ask=_Marked(grader.ask, variant))
    return await _grade(marked.sampled_again() if variant == "again" else marked, material, plan, scores)


async def _grade(grader: Grader, material: Material, plan: BiasPlan, scores: tuple[str, ...]) -> dict[str, Judgement]:
    panel = Panel(graders=(grader,), scores=scores, each_claim=plan.each_claim)
    return {judgement.score: judgement for judgement in await panel.grade(material)}


class _Marked:
    """Asks, and lets the cassette tell people which variant a request is about."""

    def __init__(self, ask: Asker, variant: Variant) -> None:
        self._ask = ask
        self._variant = variant

    async def __call__(self, request: JudgeRequest, expected: type[F]) -> Opinion[F]:
        """Ask; see `Asker`."""
        prompt = replace(request.prompt, about={**request.prompt.about, "variant": self._variant})
        return await self._ask(replace(request, prompt=prompt), expected)


def _name(item: LabelledResult) -> str:
    return f"{item.result.mode}|{item.case.id}"
