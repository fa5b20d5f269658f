"""A few questions asked a second time: whether the API ranks the same again, and by how much its metrics move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from raggate.inputs.trusted import Inputs
from raggate.models.run import Result
from raggate.pipeline.booted import Booted
from raggate.pipeline.request import Request
from raggate.scoring import noise, repeats, score
from raggate.scoring.repeats import Repeated


def ask_again(request: Request, inputs: Inputs, up: Booted, results: Sequence[Result]) -> Repeated | None:
    """Ask a few questions a second time, which counts for nothing but whether the API ranks the same again."""
    first = repeats.sample(results, inputs.config.ask.repeat_sample)
    if not up.adapter.repeatable:
        if inputs.config.ask.repeat_sample:
            request.say("nothing is asked twice of a program, so nothing shows whether it ranks alike each time")
        return None
    cases = {case.id: case for case in inputs.golden.cases}
    questions = [(cases[result.case_id], result.mode) for result in first]
    if not questions:
        return None
    again = map(up.clean, up.adapter.ask(questions, up.api, on_result=lambda *_: None).results)
    pairs = [[score.label(cases[item.case_id], item) for item in pair] for pair in zip(first, again, strict=True)]
    cutoffs = inputs.config.score.k
    repeated = repeats.compare(pairs, cutoffs)
    if repeated is None or not repeated.differ:
        return repeated
    answered = [pair for pair in pairs if pair[1].result.response is not None]
    asking = inputs.config.ask
    scores = score.score_answers(
        answered, cutoffs, retrieval_only=asking.retrieval_only, reads_abstention=asking.reads_abstention
    )
    return replace(repeated, bands=noise.bands_of(scores))
