"""Base build and change, each booted for it and asked the same questions -> how long both took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from pathlib import Path
from secrets import SystemRandom

from msgspec.structs import replace

from raggate.config.imported import RunConfig
from raggate.config.recheck_settings import Recheck
from raggate.config.schema import Config
from raggate.errors import CannotTell, ExitCode, RaggateError
from raggate.gate.latency import slower
from raggate.inputs.trusted import Inputs
from raggate.models.case_packing import by_id
from raggate.models.recheck import LatencyCheck
from raggate.models.run import Chunk, Result, Run
from raggate.models.verdict import Review
from raggate.pipeline.base_build import Asking, base_build
from raggate.pipeline.booted import Build
from raggate.pipeline.request import Request
from raggate.scoring import repeats
from raggate.text.numbers import counted
from raggate.text.quote import cut

MOST_QUESTIONS = 50
"""So many questions are asked."""

ROUNDS = 3
"""How often each is asked: the first time no memory of answers helps, and of the others the least counts, as all else
only adds to it. Both have to be as fast as is allowed."""

OTHER_ANSWERS = 0.1
"""Share of the questions that may be answered otherwise than in the run: an index that is built anew need not be the
same."""

_Times = tuple[float, float]
"""The milliseconds of a question when it was first asked, and the least of the other times."""


def compare_latency(
    request: Request, inputs: Inputs, directory: Path, review: Review, *, own: bool = True
) -> LatencyCheck | None:
    """Time both builds one after the other; None where that is not wanted, or has no say.

    Args:
        request: what the front end asks for.
        inputs: what was measured by.
        directory: the run directory.
        review: what was decided so far.
        own: whether the build that lies here is the one that was measured.

    Raises:
        RaggateError: when it was interrupted; any other error is a part of what it gives.
    """
    settings = inputs.config.recheck
    if settings.max_latency_ratio is None or review.verdict.outcome not in {"pass", "regression"}:
        return None
    if not own:
        problem = "the run was measured before, and its build need not be the one that lies here"
        return LatencyCheck(allowed=settings.max_latency_ratio, problem=problem)
    if settings.base == "ref" and inputs.against is None:
        request.say("the latency is not compared: no commit judges this run, whose source could be built (--against)")
        return None
    cases = by_id(inputs.golden.cases)
    results = drawn(item.result for item in review.run.results)
    questions = [(cases.named(result.case_id), result.mode) for result in results]
    asking = Asking(request=request, inputs=inputs, directory=directory, review=review, questions=questions)
    try:
        return _timed(asking, settings.max_latency_ratio, results)
    except RaggateError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        return LatencyCheck(allowed=settings.max_latency_ratio, problem=error.message)


def of_stored(run: Run, policy: RunConfig | None, kept: LatencyCheck | None) -> LatencyCheck | None:
    """Give the latency that counts for a run on disk: what was timed of it, by the limit of who judges it now.

    Args:
        run: the run.
        policy: the configuration that judges it; None for its own.
        kept: what is stored beside it; None for nothing.

    Returns:
        None where no limit is set, and where a check of such a run would time nothing either.
    """
    limits, own = _limits(policy or run.config), _limits(run.config)
    if limits is None or limits.max_latency_ratio is None:
        return None
    allowed = limits.max_latency_ratio
    if kept is not None and own is not None and (limits.base, limits.image) == (own.base, own.image):
        return replace(kept, allowed=allowed)
    if limits.base == "ref" and run.provenance.against is None:
        return None
    return LatencyCheck(allowed=allowed, problem="nothing beside the run tells how long this base build took")


def _limits(settings: RunConfig) -> Recheck | None:
    return settings.recheck if isinstance(settings, Config) else None


def drawn(results: Iterable[Result]) -> list[Result]:
    """Draw the answers whose questions are timed: others in every run, so that no change is fast in these alone."""
    chance = SystemRandom()
    answered = (result for result in results if result.response is not None)
    return nsmallest(MOST_QUESTIONS, answered, key=lambda _: chance.random())


def another_answer(measured: Result, timed: Result) -> bool:
    """Say whether an answer lacks the text, or more than half of the chunks, of the one that was scored.

    A chunk is the same by its id, by its content, or by its place in the notes: a text may tell the time or a score.
    """
    before, now = measured.response, timed.response
    if before is None or now is None:
        return False
    there = {mark for chunk in now.chunks for mark in _marks(chunk)}
    kept = sum(not there.isdisjoint(_marks(chunk)) for chunk in before.chunks)
    # several of one place may all be there by one chunk
    few = 2 * min(kept, len(now.chunks)) < len(before.chunks)
    return few or (bool(before.answer) and not now.answer)


def _marks(chunk: Chunk) -> Iterator[tuple[str | None, ...]]:
    """Give what a chunk is known by, each of another length: its id, its place where one is told, its content."""
    yield (chunk.chunk_id,)
    if named := chunk.rel_path or chunk.doc_id:
        yield chunk.vault, named, chunk.heading_path
    yield chunk.content


def _timed(asking: Asking, allowed: float, measured: Sequence[Result]) -> LatencyCheck:
    change_build = Build(api=asking.inputs.config.api, root=asking.request.root)
    with base_build(asking.request, asking.inputs) as build:
        asking.say(f"the base build ({cut(build.name)}) and of the change, for their latency")
        sides = [_times(asking, change_build, "latency", measured), _times(asking, build, "latency-base")]
        unanswered = sum(own is None and base is not None for own, base in zip(*sides, strict=True))
        if unanswered:
            # what is slow must not be left out by failing
            raise CannotTell(f"the change did not answer {counted(unanswered, 'call')} at once that the base did")
        change, base = _answered(sides)
        if any(slower(before, own, allowed) for before, own in zip(base, change, strict=True)):
            # the machine may have been slow just then, or fast
            sides.append(_times(asking, build, "latency-base-again"))
    (change_first, change_least), *bases = _answered(sides)
    base_first, base_least = zip(*bases, strict=True)
    return LatencyCheck(
        allowed=allowed,
        build=build.name,
        base=base_least,
        change=change_least,
        base_first=base_first,
        change_first=change_first,
    )


def _times(asking: Asking, build: Build, folder: str, measured: Sequence[Result] | None = None) -> list[_Times | None]:
    """Boot a build, and give the milliseconds of each question; None where it got no answer at once.

    What it answers must be as it was `measured`, where that is given.
    """
    rounds = []
    with asking.up(build, folder) as up:
        for _ in range(ROUNDS):
            asked = up.adapter.ask(asking.questions, up.api, on_result=lambda *_: None)
            if asked.stopped:
                raise CannotTell(asked.stopped)
            rounds.append(asked.results)
            if measured is not None:
                _refuse_other_answers(asking.review, measured, [up.clean(result) for result in asked.results])
    return [
        (results[0].elapsed_ms, min(result.elapsed_ms for result in results[1:]))
        if all(result.failure is None and not result.retries for result in results)
        else None
        for results in zip(*rounds, strict=True)
    ]


def _refuse_other_answers(review: Review, measured: Sequence[Result], timed: Sequence[Result]) -> None:
    """Refuse to time answers that nobody scored, unless the API was known before to answer otherwise each time."""
    baseline = review.comparison.baseline
    if baseline is not None and repeats.noisy(baseline.scorecard.fingerprint):
        return
    others = sum(map(another_answer, measured, timed))
    if others > OTHER_ANSWERS * len(measured):
        raise CannotTell(
            f"{others} of {counted(len(measured), 'call')} were answered otherwise when they were timed than when they "
            "were scored"
        )


def _answered(sides: Sequence[Sequence[_Times | None]]) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Give the times of each side, first and least, without the questions that some side did not answer at once."""
    kept = [[time for time in times if time is not None] for times in zip(*sides, strict=True)]
    complete = [times for times in kept if len(times) == len(sides)]
    return [
        (tuple(times[side][0] for times in complete), tuple(times[side][1] for times in complete))
        for side in range(len(sides))
    ]
