"""Which questions of a run are not asked, as an earlier run of the same images, notes and requests has the answers.

The API is started all the same, and some of those questions are asked of it. Where one is answered otherwise than
before, all of them are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from secrets import SystemRandom

from msgspec import Struct, field
from msgspec.structs import replace

from raggate import __version__
from raggate.config.schema import Config
from raggate.errors import UsageError
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.provenance import KeptFrom
from raggate.models.run import Failure, Response, Result, Run
from raggate.models.selection import Selection
from raggate.pipeline import index_facts
from raggate.pipeline.answers import seal, sealed_file, vault_files
from raggate.pipeline.answers.sealed_file import Header, KeptFile
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.booted import Booted
from raggate.pipeline.request import Request
from raggate.pipeline.second_answers import drawn
from raggate.text.clock import now
from raggate.text.dates import days_between
from raggate.text.guarded import Guarded
from raggate.text.numbers import counted, setting
from raggate.text.quote import cut

Question = tuple[Case, str]
Key = tuple[str, str]
"""Mode and id of a question."""


class AnswerCache(Guarded, Struct, kw_only=True):
    """The kept answers of one build, as far as a run takes them.

    Attributes:
        directory: where files of kept answers are.
        secret: the key of their seal.
        inputs: what is measured by.
        request: what the front end asks for.
        vaults: hash of the files of the vaults, before the API got them.
        keeps: whether the answers of this run are kept, if it is whole and asks everything.
        aside: why no kept answer is taken, though there are some; empty otherwise.
    """

    directory: Path
    secret: bytes
    inputs: Inputs
    request: Request
    vaults: str
    keeps: bool
    aside: str = ""
    _path: Path | None = None
    _file: KeptFile | None = None
    _marks: dict[Key, str] = field(default_factory=dict)
    _taken: list[Question] = field(default_factory=list)

    def left(self, up: Booted, questions: Sequence[Question], answers: AnswersSoFar) -> Sequence[Question]:
        """Give the questions that are asked in any case: those without a kept answer, and some to compare with.

        Args:
            up: the API, which runs.
            questions: all questions.
            answers: what is known of the API.
        """
        if vault_files.content(self.inputs.vault.directories) != self.vaults:
            # which of both the API got, nobody knows
            self.aside, self.keeps = "files of the vaults were changed while the API started", False
            self._say_aside()
            return questions
        facts = {"schema": sealed_file.SCHEMA, "raggate": __version__, **self._facts(answers)}
        self._path = self.directory / f"{seal.mark(self.secret, facts)}.answers"
        for case, mode in questions:
            if (request := up.adapter.request(case, mode)) is not None:
                known = (case.question, case.vaults, case.folders, case.k, case.detail)
                self._marks[mode, case.id] = seal.mark(self.secret, [mode, request, known])
        self._file = self._believed(answers) if answers.image_ids else None
        if self._file is None:
            self._say_aside()
            return questions
        kept = [(case, mode) for case, mode in questions if self._kept(mode, case.id) is not None]
        # what is asked twice tells whether the API ranks alike each time, which no kept answer can
        twice = drawn(self.inputs)
        free = [(case, mode) for case, mode in kept if (mode, case.id) not in twice]
        checks = min(self.inputs.config.answers.spot_check, len(free))
        checked = {(mode, case.id) for case, mode in SystemRandom().sample(free, checks)}
        self._taken = [(case, mode) for case, mode in free if (mode, case.id) not in checked]
        taken = {(mode, case.id) for case, mode in self._taken}
        if self._taken:
            self.request.say(
                f"{len(taken)} of {counted(len(questions), 'call')} not made, if the others are answered as before"
            )
        return [(case, mode) for case, mode in questions if (mode, case.id) not in taken]

    def taken(self, answers: AnswersSoFar) -> Iterator[Result]:
        """Give the kept answers that are taken, now that the others were asked, and note of which run they are.

        There are none where a question came out otherwise than before, or when asked again, or any call failed.
        """
        if self._file is None:
            return
        first = {(result.mode, result.case_id): result for result in answers.sampled or ()}
        asked = chain(
            ((self._kept(result.mode, result.case_id), result, "than before") for result in answers.results),
            ((first.get((result.mode, result.case_id)), result, "when asked again") for result in answers.again),
        )
        for before, result, when in asked:
            how = "got no answer" if result.response is None else f"is answered otherwise {when}"
            if result.response is None or (before is not None and not _alike(before, result)):
                self.aside = f"{cut(result.case_id)} ({cut(result.mode)}) {how}"
                self._say_aside()
                return
        if self._taken:
            answers.kept_from = self._file.header.origin
        for case, mode in self._taken:
            kept = self._kept(mode, case.id)
            if kept is not None and kept.response is not None:
                yield Result(
                    case_id=case.id,
                    mode=mode,
                    response=replace(kept.response, latency={}, cost={}),
                    failure=None,
                    retries=0,
                    elapsed_ms=0.0,
                    kept=True,
                )

    def unasked(self, why: str) -> Iterator[Result]:
        """Give the failures of the questions that are neither taken nor asked, as asking ended early."""
        failure = Failure(kind="aborted", message=why)
        for case, mode in self._taken:
            yield Result(case_id=case.id, mode=mode, response=None, failure=failure, retries=0, elapsed_ms=0.0)

    def untaken(self, answers: AnswersSoFar) -> Sequence[Question]:
        """Give the questions that are left to ask after all."""
        return () if answers.kept_from is not None else self._taken

    def keep(self, run: Run, answers: AnswersSoFar) -> None:
        """Keep the answers of a run that asked everything, and whose API ranked alike where it was asked twice."""
        if not self.keeps or self._path is None or answers.kept_from is not None or run.stopped is not None:
            return
        repeated = answers.repeated
        why = ""
        if not answers.image_ids:
            why = "the engine told no image"
        elif repeated is None or not repeated.asked:
            why = (
                "no question was asked twice (ask.repeat_sample), so nothing shows that it is answered alike each time"
            )
        elif repeated.differ:
            why = "the API does not answer alike each time"
        if why:
            self.request.say(f"the answers are not kept: {why}")
            return
        origin = KeptFrom(run=run.run_id, asked=run.started, commit=run.provenance.checkout.commit or "")
        rows = (
            (self._marks[result.mode, result.case_id], result)
            for result in answers.results
            if result.response is not None and (result.mode, result.case_id) in self._marks
        )
        try:
            # they hold what notes say
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_foreign(self.directory)
            sealed_file.write(
                self._path, self.secret, Header(origin=origin, index=index_facts.counts_of(answers.index)), rows
            )
        except (OSError, UsageError) as error:
            self.request.say(f"the answers are not kept: {cut(error)}")

    def _facts(self, answers: AnswersSoFar) -> dict[str, object]:
        """Give all that the answers of an API in containers depend on, beside the question."""
        settings, environment = self.inputs.config, self.request.environment
        names = {name for part in settings.api.containers().values() for name in part.pass_env}
        return {
            # suites of one API ask other questions, and would write over each other
            "suite": settings.suite,
            "images": dict(sorted(answers.image_ids.items())),
            "api": settings.api.model_dump(mode="json"),
            "ask": settings.ask.model_dump(mode="json"),
            "vaults": self.vaults,
            "passed": {name: environment.get(name) for name in sorted(names)},
        }

    def _kept(self, mode: str, case_id: str) -> Result | None:
        return None if self._file is None else self._file.at(self._marks.get((mode, case_id)))

    def _believed(self, answers: AnswersSoFar) -> KeptFile | None:
        """Read what is there, unless it must not be taken, and then note why."""
        assert self._path is not None  # noqa: S101 - the caller has named it
        try:
            _refuse_foreign(self.directory)
            file = sealed_file.read(self._path, self.secret)
        except UsageError as error:
            self.aside = error.message
            return None
        if file is None:
            return None
        age, most = days_between(file.header.origin.asked, now()), self.inputs.config.answers.max_age_days
        if age is None or not 0 <= age <= most:
            self.aside = f"they are not of the last {setting(most)} days (answers.max_age_days)"
        elif file.header.index != index_facts.counts_of(answers.index):
            self.aside = "the API tells other counts of its index than before"
        return None if self.aside else file

    def _say_aside(self) -> None:
        if self.aside:
            self.request.say(f"kept answers are left aside, and all is asked: {self.aside}")


def of_run(
    request: Request, inputs: Inputs, *, boots: int, selection: Selection | None, below: Path | None
) -> AnswerCache | None:
    """Give the kept answers that a run may take; None where it takes none.

    Args:
        request: what the front end asks for.
        inputs: what is measured by.
        boots: how often the API is started.
        selection: the questions that are asked; None for all.
        below: the run that this one is only a part of.

    Raises:
        UsageError: where nothing names what the answers of the API depend on, or the key is none.
    """
    if request.answers is None or below is not None or boots > 1:
        return None
    check(request, inputs.config)
    keeps = request.keeps_answers and selection is None and not seal.judges_change(request.environment)
    secret = seal.key(request.environment)
    if secret is None:
        name = "`answers-key`" if request.action else seal.VARIABLE
        request.say(f"no kept answer is taken, and none is kept, so all is asked: the secret {name} is not given")
        return None
    vaults = vault_files.content(inputs.vault.directories)
    return AnswerCache(
        directory=request.answers, secret=secret, inputs=inputs, request=request, vaults=vaults, keeps=keeps
    )


def check(request: Request, settings: Config) -> None:
    """Refuse kept answers where nothing names what those of the API depend on.

    Raises:
        UsageError: saying why.
    """
    if request.answers is not None and (why := refusal(settings, request)):
        name = "the input 'answers'" if request.action else "--answers"
        raise UsageError(f"{name}: {why}", hint="Leave it out: everything is asked then.")


def refusal(settings: Config, request: Request) -> str:
    """Say why no answers are kept of an API; empty where they may be."""
    container = settings.api.container
    if container is None:
        return "only the images of `api.container` name all that answers; of anything else no answer is kept"
    if container.egress and not settings.answers.outside_services:
        return (
            "the API reaches other networks (api.container.egress), so its image alone does not decide its answers; "
            "`answers.outside_services: true` keeps them all the same"
        )
    if settings.ask.adapter not in {"ask", "mapped"}:
        return f"nothing tells what the adapter {settings.ask.adapter} sends for a question before it is asked"
    if settings.ask.repeat > 1:
        return "with `ask.repeat` every question is asked again to see how answers vary"
    if (holds := _holding(settings, request)) is not None:
        return f"the directory lies in the vault {cut(holds)}, and the API would be given what it holds"
    if request.workers > 1 or request.resume is not None:
        return "a run takes them that is asked in one process, from its beginning: without --workers and --resume"
    return ""


def _holding(settings: Config, request: Request) -> str | None:
    """Name the vault that the directory lies in; None for none. Either path may lead there by links."""
    assert request.answers is not None  # noqa: S101 - the caller has one
    place = request.answers.resolve()
    vaults = settings.vault.items()
    return next((name for name, path in vaults if place.is_relative_to((request.root / path).resolve())), None)


def _alike(before: Result, now: Result) -> bool:
    """Say whether a question is answered as before: the same list, texts and words, of the same index."""
    if before.response is None or now.response is None:
        return False
    indexes = [index_facts.values_of([result], None) for result in (before, now)]
    return indexes[0] == indexes[1] and _content(before.response) == _content(now.response)


def _content(response: Response) -> tuple[object, ...]:
    """Give all of a response but amounts that vary by themselves: times, costs, scores, its reasoning, its index."""
    chunks = [replace(chunk, score_final=None, score_vector=None, score_lexical=None) for chunk in response.chunks]
    return (*chunks, replace(response, chunks=(), latency={}, cost={}, coverage=None, folder_reasoning=None))


def _refuse_foreign(directory: Path) -> None:
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UsageError("the directory of --answers is a link, or none")
