"""A few questions asked a second time: whether the API ranks the same again, and by how much its metrics move."""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet
from heapq import nsmallest

from msgspec.structs import replace

from raggate.inputs.trusted import Inputs
from raggate.models.golden import by_id
from raggate.models.run import Result
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.booted import Booted
from raggate.pipeline.request import Request
from raggate.scoring import noise, repeats, score
from raggate.scoring.repeats import Repeated
from raggate.service.ask import questions_of
from raggate.text.lots import lot

SPARE = 2
"""So many times the sample may be drawn from, as questions without an answer are not asked again."""


def chosen(inputs: Inputs, results: Iterable[Result]) -> tuple[Result, ...]:
    """Choose the answers whose questions are asked again, of all of a run or of those of a shard.

    Which questions may be drawn depends on all of the golden set, so that shards ask what the whole run needs and few
    others.
    """
    lots = drawn(inputs)
    of_these = (result for result in results if (result.mode, result.case_id) in lots)
    return repeats.sample(of_these, inputs.config.ask.repeat_sample)


def drawn(inputs: Inputs) -> AbstractSet[tuple[str, str]]:
    """Draw the questions, by mode and id, of which some are asked again: more than are, as some may have no answer."""
    questions = ((mode, case.id) for case, mode in questions_of(inputs.golden.cases, inputs.config.ask.modes))
    return {*nsmallest(SPARE * inputs.config.ask.repeat_sample, questions, key=lambda question: lot(*question))}


def ask_again(request: Request, inputs: Inputs, up: Booted, answers: AnswersSoFar) -> None:
    """Ask a few questions a second time, which counts for nothing but whether the API ranks the same again."""
    if not inputs.config.asks_again:
        if inputs.config.ask.repeat == 1 and inputs.config.ask.repeat_sample:
            request.say("nothing is asked twice of a program, so nothing shows whether it ranks alike each time")
        return
    cases = by_id(inputs.golden.cases)
    questions = [(cases[result.case_id], result.mode) for result in chosen(inputs, answers.results)]
    if questions:
        answers.again = [*map(up.clean, up.adapter.ask(questions, up.api, on_result=lambda *_: None).results)]


def compared(inputs: Inputs, answers: AnswersSoFar) -> Repeated | None:
    """Compare second answers with the first ones; None where nothing was asked again.

    Args:
        answers: those of a whole run. Second ones to questions that a whole run does not ask again are left out.
    """
    if not answers.again:
        return None
    cases = by_id(inputs.golden.cases)
    second = {(result.mode, result.case_id): result for result in answers.again}
    both = [(first, second.get((first.mode, first.case_id))) for first in chosen(inputs, answers.results)]
    pairs = [[score.label(cases[item.case_id], item) for item in (first, later)] for first, later in both if later]
    cutoffs = inputs.config.score.k
    repeated = repeats.compare(pairs, cutoffs)
    if repeated is None or not repeated.differ:
        return repeated
    answered = [pair for pair in pairs if pair[1].result.response is not None]
    asking = inputs.config.ask
    scores = score.score_answers(
        answered, cutoffs, retrieval_only=asking.retrieval_only, reads_abstention=asking.reads_abstention
    )
    return replace(repeated, bands=noise.bands_of([*scores]))
