"""The answers of a run that is being asked, on disk as they come in, so that a run that was killed can go on.

Two files in the directory of the run, or of the shard: what it is asked by, and one line per answer. Both are gone once
it is whole. Who could write them could have given the answers: see docs/shards.md.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.errors import CannotTell, UsageError
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.provenance import Checkout
from raggate.models.run import Asking, Boot, Result, Run
from raggate.pipeline import asked_by, index_facts, run_directory
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.asked_by import ANEW, QuestionNumbers
from raggate.pipeline.request import Request, unheard
from raggate.pipeline.shards import shard_directory
from raggate.pipeline.shards.shard_directory import Journal
from raggate.text.files import write_atomic
from raggate.text.numbers import counted

HEADER = "asking.json"
ANSWERS = "asked.jsonl"
"""The answers of a run; those of a shard lie in the file that a merge reads."""


class UnfinishedRun(Struct, kw_only=True):
    """The answers on disk; a context, in which nobody else can add any.

    Attributes:
        directory: where they are.
        asking: by what they were asked.
        checkout: what was checked out when it began or went on; None for a shard.
        file: the name of the file that they lie in.
        goes_on: whether some are there already.
        say: takes a line about what is there.
    """

    directory: Path
    asking: Asking
    checkout: Checkout | None = None
    file: str = ANSWERS
    goes_on: bool = False
    say: Callable[[str], None] = unheard
    _stack: ExitStack | None = None
    _journal: Journal | None = None
    _questions: QuestionNumbers | None = None
    _lines: int = 0
    _given: bytearray = field(default_factory=bytearray)
    _sections: list[int] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """SHA-256 of all answers."""
        return self._open.digest

    @property
    def resumed(self) -> int:
        """How often it has gone on."""
        return max(len(self.asking.boots) - 1, 0)

    def can_go_on(self, answers: AnswersSoFar) -> bool:
        """Return whether it could go on from here if it ended now: whether anything tells that the API is the same."""
        api = self.asking.means.api
        tells = api.id if api.kind == "source" else api.kind == "image" or self._index_of(answers)
        return bool(self.asking.boots and tells)

    @staticmethod
    def _index_of(answers: AnswersSoFar) -> dict[str, tuple[str, ...]]:
        return index_facts.values_of(answers.results, answers.index)

    @property
    def _open(self) -> Journal:
        assert self._journal is not None  # noqa: S101 - it is a context
        return self._journal

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            path = self.directory / self.file
            if self.goes_on:
                for name in (HEADER, self.file):
                    _refuse_foreign(self.directory / name)
                _lock(stack, path)
                self._go_on()
            self._journal = stack.enter_context(Journal(path, goes_on=self.goes_on))
            if not self.goes_on:
                _lock(stack, path)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.asking.boots:
            # nothing was asked
            self.done()
        if self._stack is not None:
            self._stack.close()

    def _go_on(self) -> None:
        """Hold what was asked by against what is asked by now.

        Raises:
            UsageError: when it is not the same, or cannot be known to be.
        """
        before = asked_by.read(self.directory / HEADER)
        asked_by.refuse_other(before, self.asking, self.directory)
        # the header was written as the API was up, and the answers after it
        took = (self.directory / self.file).stat().st_mtime - (self.directory / HEADER).stat().st_mtime
        self.asking = replace(before, seconds=before.seconds + max(took, 0.0))

    def load(self, answers: AnswersSoFar, cases: Sequence[Case]) -> None:
        """Put the answers that are there into `answers`; they must be to these questions.

        Raises:
            UsageError: when they are to others, or twice to one.
        """
        self._sections = [0] * len(self.asking.boots)
        if not self.goes_on:
            return
        path, questions = self.directory / self.file, QuestionNumbers.of(self.asking, cases)
        self._given, self._questions = bytearray(len(questions)), questions
        for line, result in enumerate(shard_directory.lines_of(path), 1):
            place = questions.place(result.case_id, result.mode, result.repeat)
            if place is None or self._given[place]:
                raise UsageError(f"{path}:{line}: an answer to no question that is asked, or a second one to it")
            self._given[place] = True
            self._lines = line
            answers.results.append(result)
            answers.failed += result.failure is not None
            for number, boot in enumerate(self.asking.boots):
                self._sections[number] += line <= boot.begins
        there = len(answers.results)
        self.say(
            f"{counted(there, 'answer')} {'is' if there == 1 else 'are'} there from before; only the others are asked"
        )

    def left(self, questions: Sequence[tuple[Case, str]], repeat: int) -> Sequence[tuple[Case, str]]:
        """Return those of the questions that are not answered yet, for the time that `repeat` counts."""
        if self._questions is None or not self._lines:
            return questions
        place = self._questions.place
        places = ((question, place(question[0].id, question[1], repeat)) for question in questions)
        return [question for question, at in places if at is None or not self._given[at]]

    def note_boot(self, answers: AnswersSoFar) -> None:
        """Note that the API is up, before it is asked anything.

        Raises:
            CannotTell: when it runs from another image, or has another index, than at the first start.
        """
        index = index_facts.counts_of(answers.index)
        boot = Boot(begins=self._lines, images=tuple(dict.fromkeys(answers.images)), index=index)
        if not self._lines:
            # nothing was answered before, so nothing can be mixed
            self.asking, self._sections = replace(self.asking, boots=()), []
        elif self.asking.boots:
            first = self.asking.boots[0]
            if first.images != boot.images:
                raise CannotTell(f"{self.directory}: the API runs from another image than before", hint=ANEW)
            if first.index != boot.index:
                raise CannotTell(
                    f"{self.directory}: the API has another index than before: {_counts(boot.index)}, and it was "
                    f"{_counts(first.index)}",
                    hint=ANEW,
                )
            if self.asking.means.api.kind == "url" and not self._index_of(answers):
                raise CannotTell(
                    f"{self.directory}: the API tells nothing of its index, which may be another one by now", hint=ANEW
                )
        self.asking = replace(self.asking, boots=(*self.asking.boots, boot))
        self._sections.append(len(answers.results))
        write_atomic(self.directory / HEADER, asked_by.written(self.asking))

    def add(self, result: Result) -> None:
        """Keep an answer."""
        self._open.add(result)

    def check_index(self, answers: AnswersSoFar) -> None:
        """Refuse answers that were given from several indexes, as far as they tell.

        Raises:
            CannotTell: naming what differs.
        """
        sections = pairwise([*self._sections, len(answers.results)]) if len(self._sections) > 1 else ()
        counts = [index_facts.values_of(answers.results[begin:end], None) for begin, end in sections]
        for key in sorted({key for section in counts for key in section}):
            if len({section[key] for section in counts if key in section}) > 1:
                raise CannotTell(
                    f"{self.directory}: answers from before it went on and after are of different indexes: {key}",
                    hint=ANEW,
                )

    def noted_in(self, run: Run) -> Run:
        """Note in a run how often it has gone on."""
        return replace(run, provenance=replace(run.provenance, resumed=self.resumed))

    def done(self) -> None:
        """Remove what is there for going on alone, now that all is whole."""
        for name in {HEADER, self.file} - {shard_directory.RESULTS}:
            (self.directory / name).unlink(missing_ok=True)


def of_run(
    request: Request, inputs: Inputs, cases: Sequence[Case], command: str, started: str, make: Callable[[], Path]
) -> UnfinishedRun:
    """Return the answers of a run that begins, in a directory that is made, or of the one that goes on.

    Raises:
        UsageError: as `place`.
    """
    checkout = sources.head(request.root, request.remote)
    here = asked_by.asking(request, inputs, cases, command, started, checkout)
    if request.resume is None:
        return UnfinishedRun(directory=make(), asking=here, checkout=checkout)
    runs = run_directory.safe_runs(request, inputs.config.out)
    return UnfinishedRun(
        directory=place(request, runs, request.resume),
        asking=here,
        checkout=checkout,
        goes_on=True,
        say=request.say,
    )


def keeps(request: Request, command: str) -> bool:
    """Return whether answers are kept: not where what is left is another job's to find."""
    return command in {"check", "run"} and not request.action


def place(request: Request, out: Path, named: Path) -> Path:
    """Find the directory that goes on: a path, or a name in `out`.

    Raises:
        UsageError: when nothing there can go on, or somebody else could have written it.
    """
    directory = named if named.is_dir() else out / named
    if not (directory / HEADER).exists():
        raise UsageError(
            f"{named}: nothing goes on there: it is whole, or nothing was asked in it",
            hint="Only what was killed or interrupted while it asked goes on.",
        )
    if request.action:
        raise UsageError("--resume: the action does not go on with what it finds")
    _refuse_foreign(directory)
    return directory


def _refuse_foreign(path: Path) -> None:
    with suppress(FileNotFoundError):
        if path.is_symlink() or path.stat().st_uid != os.geteuid():
            raise UsageError(f"{path}: a link, or another user's: its answers are not believed", hint=ANEW)


def _lock(stack: ExitStack, path: Path) -> None:
    # not the directory: what judges say is kept there too, with a lock of its own
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    stack.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(f"{path.parent}: another process asks there right now") from None


def _counts(index: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {key}" for key, count in sorted(index.items())) or "not told"
