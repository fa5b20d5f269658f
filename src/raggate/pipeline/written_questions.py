"""The first judge of a configuration, asked for questions to passages; what it writes is checked before it is shown.

A judge that cannot be asked, or writes nothing good, is reported once for each reason, not as an error.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from raggate.base.errors import UsageError
from raggate.base.jsonio import JsonObject
from raggate.base.numbers import counted
from raggate.config.judge_settings import Judges
from raggate.inputs.authoring.passages import Passage
from raggate.inputs.authoring.proposals import Proposal
from raggate.inputs.authoring.written_questions import QuestionCheck, passages_to_ask, sifted
from raggate.judges.cassette import Cassette
from raggate.judges.grader import Grader
from raggate.judges.replies import QuestionReply
from raggate.judges.session import Bench, Opinion
from raggate.models.judging import NotJudged
from raggate.pipeline import jury
from raggate.pipeline.authoring import Workbench, in_time
from raggate.pipeline.request import Request

RUBRIC = "question"
MOST_READ = 6000
"""Characters of a passage that the model is shown."""
CALLS_EACH = 2
"""Calls for each question that is wanted after which no further passage is asked about: the model may be no good."""
MANY = 10
"""Questions that are no good, and none that is, from which on it may be for the model."""


class _Yield(Struct):
    """What came of the replies so far: all that holds for its passage, and of that what nobody asked before."""

    written: list[Proposal] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    flaws: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, str] = field(default_factory=dict)


def write_questions(request: Request, bench: Workbench, earlier: Sequence[Proposal], most: int) -> list[Proposal]:
    """Ask the first judge for questions, until so many are good; what `earlier` proposals ask is not asked again."""
    settings = bench.settings.judges
    if settings is None:
        problem = f"--model: {request.config_place} has no section 'judges', so there is no model to ask"
        raise UsageError(problem, hint="Add one with a model (docs/judges.md), or leave out --model.")
    if not most:
        request.say("no model is asked, because enough proposals wait. Accept or reject some, or raise --limit")
        return []
    path = jury.place(request.root, settings.cassette)
    tape = Cassette(jury.replies_at(path), path, fresh=settings.mode == "refresh")
    judges = jury.Jury(settings=settings, tape=tape, environment=request.environment, say=request.say)
    written = [item.case for item in earlier if item.source == "model"]
    with in_time(bench):
        check = QuestionCheck(bench.visible)
        passages = passages_to_ask(bench.golden, bench.visible, written)

        questions = [case.question for case in (*bench.golden.cases, *(item.case for item in earlier))]

    async def work(ways: Bench) -> _Yield:
        grader = Grader(ask=ways.first, model=settings.models[0], frame="question")
        return await _Writing(bench, grader, ways, check, questions).until(most, passages)

    name = settings.models[0].model
    if passages and settings.mode != "replay":
        request.say(
            f"asking {name} for {counted(most, 'question')}, one passage a call. This can take long on a small machine"
        )
    outcome, spending = judges.ask(work)
    _say(request, settings, outcome)
    judges.say_spending(spending)
    return outcome.proposals[:most]


class _Writing(Struct, frozen=True):
    """A model at work: what is asked of it, and what its questions are held against."""

    bench: Workbench
    grader: Grader
    ways: Bench
    check: QuestionCheck
    questions: Sequence[str]

    async def until(self, most: int, passages: Sequence[Passage]) -> _Yield:
        """Ask for a question to each passage, several at once, until so many are good or nothing answers."""
        outcome = _Yield()
        place = 0
        while place < len(passages) and (missing := self._wanted(most, outcome)) > 0:
            batch = passages[place : place + missing]
            place += len(batch)
            opinions = await asyncio.gather(*map(self._ask, batch))
            with in_time(self.bench):
                for passage, opinion in zip(batch, opinions, strict=True):
                    self._take(outcome, passage, opinion)
                outcome.proposals, again = sifted(outcome.written, self.questions)
                outcome.again = Counter(again)
            if not any(opinion.usage.replies for opinion in opinions):
                # whatever keeps it from answering keeps it from answering to the rest, too
                break
        return outcome

    def _wanted(self, most: int, outcome: _Yield) -> int:
        """Return how many passages may be asked about next; what the cassette answers is no call."""
        calls = self.ways.budget.spending().calls if self.ways.budget is not None else 0
        return min(most - len(outcome.proposals), CALLS_EACH * most - calls)

    async def _ask(self, passage: Passage) -> Opinion[QuestionReply]:
        source = ", ".join(filter(None, (passage.rel_path, passage.heading_path)))
        shown: JsonObject = {"number": 1, "source": source, "text": passage.text[:MOST_READ]}
        return await self.grader.reply(RUBRIC, {"passages": [shown]}, QuestionReply)

    def _take(self, outcome: _Yield, passage: Passage, opinion: Opinion[QuestionReply]) -> None:
        if isinstance(opinion.says, NotJudged):
            outcome.gaps.setdefault(opinion.says.reason, opinion.says.detail)
            return
        made = self.check.proposal(opinion.says.question, opinion.says.answer, passage)
        if isinstance(made, Proposal):
            outcome.written.append(made)
        else:
            outcome.flaws[made] += 1


def _say(request: Request, settings: Judges, outcome: _Yield) -> None:
    name = settings.models[0].model
    for reason, detail in sorted(outcome.gaps.items()):
        request.say(f"{name}: {reason}: {detail}")
    flaws = outcome.flaws + outcome.again
    if flaws:
        reasons = ", ".join(f"{reason} {number}" for reason, number in sorted(flaws.items()))
        request.say(f"{name}: {counted(flaws.total(), 'question')} not proposed: {reasons}")
    if flaws.total() >= MANY and not outcome.proposals:
        request.say(f"{name}: none of its questions can be used, so this model may be too small for it")
