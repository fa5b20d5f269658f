"""A configuration -> its golden set opened for new questions: what the API answers to one, and lines added to the file.

The golden set may not be there yet. What is added is checked as a check would, and written whole or not at all.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.config import schema
from raggate.config.judge_settings import Judges
from raggate.config.schema import Config
from raggate.errors import CannotTell, UsageError
from raggate.gate import baseline as baseline_file
from raggate.gate.suite_checks import check_abstentions, check_headings
from raggate.inputs import anchor_check, golden, vault
from raggate.inputs.authoring.golden_file import with_cases
from raggate.inputs.authoring.passages import Passage
from raggate.inputs.authoring.proposals import Proposal
from raggate.inputs.authoring.written_questions import QuestionCheck, passages_to_ask, sifted
from raggate.inputs.leaks import visible
from raggate.inputs.lint.questions import check_questions, check_supports
from raggate.inputs.trusted import NO_CONFIG, Inputs
from raggate.judges import session
from raggate.judges.cassette import Cassette
from raggate.judges.grader import Grader
from raggate.judges.replies import QuestionReply
from raggate.judges.session import Bench, Opinion
from raggate.models.baseline import Baseline
from raggate.models.golden import Case, Golden, Vault, digest
from raggate.models.judging import NotJudged, Parameters
from raggate.models.lint import LintFinding
from raggate.models.run import Chunk
from raggate.pipeline import jury
from raggate.pipeline.booted import Build, Place, booted
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import check_names
from raggate.scoring.score import directions
from raggate.text.deadlines import beside_notes, within
from raggate.text.files import read_file, write_file
from raggate.text.jsonio import JsonObject
from raggate.text.numbers import counted
from raggate.text.scratch import scratch_directory

SHOWN = 10
"""Passages of an answer that are shown."""


RUBRIC = "question"
MOST_READ = 6000
"""Characters of a passage that the model is shown."""
CALLS_EACH = 2
"""Calls for each question that is wanted after which no further passage is asked about: the model may be no good."""
MANY = 10
"""Questions that are no good, and none that is, from which on it may be for the model."""


class Workbench(Struct, frozen=True, kw_only=True):
    """A golden set that is written: its configuration, its file and content, its cases, and the notes.

    `visible` are the notes that questions may be about: those that are not private. `baseline` is the file of the
    suite's baseline, which need not be there.
    """

    settings: Config
    path: Path
    data: bytes
    golden: Golden
    vault: Vault
    visible: Vault
    baseline: Path


def open_golden(request: Request) -> Workbench:
    """Read configuration, golden set and notes. A golden set that is not there has no cases.

    Raises:
        UsageError: for any of them that cannot be used.
    """
    if not request.config_file.is_file():
        raise UsageError(f"{request.config_place}: no such file", hint=NO_CONFIG)
    settings = schema.load(read_file(request.config_file), request.config_place)
    settings = check_names(request.overrides.apply(settings), request.config_place)
    missing = [name for name, folder in settings.vault.items() if not (request.root / folder).is_dir()]
    if missing:
        raise UsageError(f"{request.place(settings.vault[missing[0]])}: no such directory (vault {missing[0]!r})")
    # a link to the file stays one
    path = (request.root / settings.golden).resolve()
    data = read_file(path) if path.is_file() else b""
    cases = _cases(data, request.place(settings.golden))
    notes = vault.load({name: request.root / folder for name, folder in settings.vault.items()})
    seen = visible(notes, settings.private)
    baseline = request.root / settings.baseline_path
    return Workbench(
        settings=settings, path=path, data=data, golden=cases, vault=notes, visible=seen, baseline=baseline
    )


def ask(request: Request, bench: Workbench, case: Case) -> tuple[Chunk, ...]:
    """Bring the API up and ask it; give the first passages of its answer.

    Raises:
        CannotTell: when the API is not ready, or does not answer.
    """
    settings = bench.settings.asking_once().asking(k=max(SHOWN, bench.settings.ask.k))
    inputs = Inputs(config=settings, golden=bench.golden, vault=bench.vault, baseline=None, against=None)
    with scratch_directory() as out:
        place = Place(out=out, runs=out)
        with booted(request, inputs, Build(api=settings.api, root=request.root), place, {}) as up:
            asked = up.adapter.ask(
                [(replace(case, id="question"), settings.ask.modes[0])], up.api, on_result=lambda *_: None
            )
            result = up.clean(asked.results[0])
    if result.response is None:
        reason = result.failure.message if result.failure else "no answer"
        raise CannotTell(f"the API did not answer: {reason}", hint="--search finds passages without it.")
    return result.response.chunks[:SHOWN]


def _baseline(bench: Workbench, new: Golden) -> Baseline | None:
    """Read the baseline, which says whether answers have headings; None where no label names one, or it has no say."""
    if not any(support.heading_path for case in new.cases for support in case.gold_supports):
        return None
    try:
        return baseline_file.read(read_file(bench.baseline), bench.baseline.name, directions(bench.settings.score.k))
    except UsageError:
        return None


def checked(bench: Workbench, cases: Sequence[Case]) -> tuple[bytes, tuple[LintFinding, ...]]:
    """Return the content of the file with cases added, and what `raggate lint` would say of them.

    Raises:
        UsageError: for a case that a check would refuse.
    """
    if not cases:
        # a golden set may still be empty
        return bench.data, ()
    try:
        data = with_cases(bench.data, cases)
    except ValueError as error:
        raise UsageError(str(error)) from None
    whole = golden.load(data, bench.golden.name)
    added = whole.cases[len(bench.golden.cases) :]
    new = Golden(name=whole.name, cases=added, hash=digest([*added]))
    anchor_check.check_anchors(new, bench.vault)
    names = {case.id for case in added}
    findings = (
        *check_questions(whole, whole.name),
        *check_supports(new, bench.vault, whole.name),
        *check_headings(bench.settings, new, whole.name, _baseline(bench, new)),
        *check_abstentions(bench.settings, new, whole.name),
    )
    return data, tuple(item for item in findings if item.key in names)


@contextmanager
def in_time(bench: Workbench) -> Iterator[None]:
    """Stop work on texts and notes that takes longer than their size allows.

    Raises:
        UsageError: when it does.
    """
    size = len(bench.data) + bench.vault.size
    late = UsageError("the questions could not be compared with the notes in time", hint="Take fewer at once.")
    with within(4 * beside_notes(size, len(bench.golden.cases)), late):
        yield


def check_content(bench: Workbench, data: bytes) -> None:
    """See that a check would take the content of a golden set.

    Raises:
        UsageError: naming what it would refuse.
    """
    if data.strip():
        anchor_check.check_anchors(golden.load(data, bench.golden.name), bench.vault)


def reopened(bench: Workbench, data: bytes) -> Workbench:
    """Return a golden set with the content that its file has now, and the notes as they are now.

    Raises:
        UsageError: when that is none, and for notes that cannot be read.
    """
    bench = replace(bench, data=data, golden=_cases(data, bench.golden.name))
    notes = notes_now(bench)
    if notes.hash == bench.vault.hash:
        return bench
    return replace(bench, vault=notes, visible=visible(notes, bench.settings.private))


def notes_now(bench: Workbench) -> Vault:
    """Read the notes again.

    Raises:
        UsageError: for notes that cannot be read.
    """
    return vault.load(bench.vault.directories)


def _cases(data: bytes, name: str) -> Golden:
    return golden.load(data, name) if data.strip() else Golden(name=name, cases=(), hash="")


def save(bench: Workbench, data: bytes) -> Workbench:
    """Write the golden set, and open it as it is now.

    Raises:
        UsageError: when it was changed since it was read, or cannot be written.
    """
    now = read_file(bench.path) if bench.path.is_file() else b""
    if now != bench.data:
        raise UsageError(f"{bench.golden.name}: changed meanwhile, nothing was written", hint="Do it again.")
    write_file(bench.path, data)
    return replace(bench, data=data, golden=golden.load(data, bench.golden.name))


class _Yield(Struct):
    """What came of the replies so far: all that holds for its passage, and of that what nobody asked before."""

    written: list[Proposal] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    flaws: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, str] = field(default_factory=dict)


def write_questions(request: Request, bench: Workbench, earlier: Sequence[Proposal], most: int) -> list[Proposal]:
    """Ask the first judge for questions, until so many are good.

    Args:
        request: what the front end asks for; its environment holds the key.
        bench: the golden set, its notes and configuration.
        earlier: proposals that wait or were rejected; what they ask is not asked again.
        most: how many at most.

    Raises:
        UsageError: without a judge, or with a cassette that cannot be read or written.
        KeyboardInterrupt: when a signal came; the replies so far are kept.
    """
    settings = bench.settings.judges
    if settings is None:
        hint = "Add one with a model, as docs/judges.md shows, or go without --model."
        raise UsageError(
            f"--model: {request.config_place} has no section 'judges', so no model can be asked", hint=hint
        )
    if not most:
        request.say("no model is asked, as enough proposals wait: take or reject some, or raise --limit")
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
        return await _Writing(bench, _grader(settings, ways), ways, check, questions).until(most, passages)

    name = settings.models[0].model
    if passages and settings.mode != "replay":
        request.say(
            f"asking {name} for {counted(most, 'question')}, one passage a call; a small machine takes its time"
        )
    outcome, spending = judges.ask(work)
    _say(request, settings, outcome)
    judges.say_spending(spending)
    return outcome.proposals[:most]


def _grader(settings: Judges, ways: Bench) -> Grader:
    model = session.judge_model(settings.models[0])
    return Grader(ask=ways.first, model=model, parameters=Parameters(max_tokens=settings.max_tokens), frame="question")


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
        return await self.grader.reply(RUBRIC, _material(passage), QuestionReply)

    def _take(self, outcome: _Yield, passage: Passage, opinion: Opinion[QuestionReply]) -> None:
        if isinstance(opinion.says, NotJudged):
            outcome.gaps.setdefault(opinion.says.reason, opinion.says.detail)
            return
        made = self.check.proposal(opinion.says.question, opinion.says.answer, passage)
        if isinstance(made, Proposal):
            outcome.written.append(made)
        else:
            outcome.flaws[made] += 1


def _material(passage: Passage) -> JsonObject:
    source = ", ".join(filter(None, (passage.rel_path, passage.heading_path)))
    return {"passages": [{"number": 1, "source": source, "text": passage.text[:MOST_READ]}]}


def _say(request: Request, settings: Judges, outcome: _Yield) -> None:
    """Tell what of the replies was no good, and one example of each reason why there is none."""
    name = settings.models[0].model
    for reason, detail in sorted(outcome.gaps.items()):
        request.say(f"{name}: {reason}: {detail}")
    flaws = outcome.flaws + outcome.again
    if flaws:
        reasons = ", ".join(f"{reason} {number}" for reason, number in sorted(flaws.items()))
        request.say(f"{name}: {counted(flaws.total(), 'question')} not proposed: {reasons}")
    if flaws.total() >= MANY and not outcome.proposals:
        request.say(f"{name}: none of its questions can be used, so this model may be too small for it")
