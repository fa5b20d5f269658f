"""The part of a run that one process asks: its questions, and what is asked beside them, each answer kept at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import nsmallest
from itertools import groupby
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base import redact, yamlio
from raggate.base.errors import CannotTell, RaggateError, SettingError
from raggate.base.files import read_file
from raggate.base.http_client import httpx
from raggate.base.numbers import counted, lot
from raggate.base.quote import without_userinfo
from raggate.base.redact import Guarded
from raggate.config.question_settings import asked_in
from raggate.config.schema import Config
from raggate.config.service_settings import Api, Readiness, variables_in
from raggate.inputs import probe_plan, text_places
from raggate.inputs.leaks import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case, Vault, by_id
from raggate.models.provenance import Checkout, Fingerprint
from raggate.models.run import Probe, ProbeAnswer, Result
from raggate.models.service import IndexState, Started, Workspace
from raggate.pipeline.answers import AnswersSoFar
from raggate.pipeline.request import Request
from raggate.pipeline.unfinished_run import UnfinishedRun
from raggate.reports.progress import Progress
from raggate.scoring import noise, repeats, score
from raggate.scoring.repeats import Repeated
from raggate.service import boot
from raggate.service.adapters import Adapter, made_of
from raggate.service.adapters.mapped import filled_text, variables
from raggate.service.ask import ended_early, questions_of
from raggate.service.boot import Expected

SPARE = 2
"""So many times the sample may be drawn from, as questions without an answer are not asked again."""


class Prober(Guarded, Struct, frozen=True):
    """The probes of a run, in order; `headers` tell the API by principal who asks."""

    inputs: Inputs
    probes: tuple[Probe, ...]
    headers: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, inputs: Inputs, environment: Mapping[str, str]) -> Prober:
        """Plan the probes; headers of principals hold what the settings name of raggate's own environment."""
        private = private_notes(inputs.vault, inputs.config.private)
        probes = probe_plan.plan(inputs.config, inputs.golden, inputs.vault, private)
        headers = {}
        for name in dict.fromkeys(probe.principal for probe in probes if probe.principal):
            templates = inputs.config.ask.principals[name].headers
            values = variables(templates, environment, f"ask.principals.{name}.headers")
            headers[name] = {header: filled_text(text, values) for header, text in templates.items()}
        return cls(inputs, probes, headers)

    def ask(self, up: Booted, answers: list[ProbeAnswer]) -> None:
        """Ask them, and put what comes of it into `answers`."""
        by_principal = sorted(self.probes, key=lambda probe: probe.principal)
        for principal, group in groupby(by_principal, key=lambda probe: probe.principal):
            asked = list(group)
            questions = [
                (probe_plan.question_of(probe, self.inputs.golden, self.inputs.config), probe.mode) for probe in asked
            ]
            headers = self.headers.get(principal)
            adapter = up.adapter.with_headers(headers) if headers else up.adapter
            results = adapter.ask(questions, up.api, on_result=lambda *_: None).results
            answers += [
                ProbeAnswer(probe=probe, result=up.clean(result)) for probe, result in zip(asked, results, strict=True)
            ]


class Part(Struct, frozen=True, kw_only=True):
    """What one process asks of a run; `build` and `boots` as of `measure`, directories as of `Place`.

    Attributes:
        before: the fingerprint of the baseline, which tells how large its index was; empty without one.
        again: whether a few questions are asked a second time; only where all are asked once.
        kept: keeps the answers as they come, and has those from before the process was killed.
    """

    request: Request
    inputs: Inputs
    cases: Sequence[Case]
    directory: Path
    runs: Path
    before: Fingerprint
    build: Build | None = None
    boots: int = 1
    again: bool = True
    probes: bool = True
    kept: UnfinishedRun | None = None

    def asks_anything(self) -> bool:
        """Return whether there is anything to ask, so that an API has to be there."""
        modes = self.inputs.config.ask.modes
        questions = any(asked_in(case.modes, mode) for case in self.cases for mode in modes)
        return questions or (self.probes and bool(Prober.of(self.inputs, self.request.environment).probes))

    def ask(self, answers: AnswersSoFar) -> tuple[str | None, tuple[str, ...]]:
        """Boot and ask into `answers`, each at once. Returns why it broke off, and the log then or at an error."""
        request, inputs = self.request, self.inputs
        prober = Prober.of(inputs, request.environment) if self.probes else Prober(inputs, (), {})
        if prober.probes:
            request.say(f"asking {counted(len(prober.probes), 'question')} for invariants too, after the suite")
        place = Place(out=self.directory, runs=self.runs, identified=answers.images.append, counted=answers.note_index)
        build = self.build or Build(api=inputs.config.api, root=request.root)
        log: tuple[str, ...] = ()
        for number in range(self.boots):
            with booted(request, inputs, build, place, self.before) as up, request.voice.progress() as progress:
                if self.kept is not None:
                    self.kept.note_boot(answers)
                stopped = self._ask_times(number, up, answers, progress)
                if stopped is None and number == self.boots - 1:
                    prober.ask(up, answers.probes)
                stopped = stopped or ended_early(up.api)
                if stopped:
                    return redact.redact_cut(stopped, up.secrets), up.log_tail()
                log = redacted(answers.log, up.secrets)
        return None, log

    def _ask_times(self, boot: int, up: Booted, answers: AnswersSoFar, progress: Progress) -> str | None:
        """Ask all questions as often as this boot is for, and some again. Returns why it broke off."""
        times = self.inputs.config.ask.repeat // self.boots
        ask_all = partial(self._ask_all, up, answers, progress)
        stopped = next(filter(None, map(ask_all, range(boot * times + 1, (boot + 1) * times + 1))), None)
        if stopped is None and self.again:
            ask_again(self.request, self.inputs, up, answers)
        return stopped

    def _ask_all(self, up: Booted, answers: AnswersSoFar, progress: Progress, repeat: int) -> str | None:
        asking = self.inputs.config.ask
        questions: Sequence[tuple[Case, str]] = questions_of(self.cases, asking.modes)
        total, before = len(questions) * asking.repeat, len(answers.results)
        if self.kept is not None:
            questions = self.kept.left(questions, repeat)
        if not questions:
            return None

        def clean(result: Result) -> Result:
            return up.clean(result) if repeat == 1 else replace(up.clean(result), repeat=repeat)

        def keep(result: Result, done: int, _: int) -> None:
            answers.note_failure(result, up.api)
            answers.results.append(cleaned := clean(result))
            if self.kept is not None:
                self.kept.add(cleaned)
            progress.advance(before + done, total, answers.failed)

        asked = up.adapter.ask(questions, up.api, on_result=keep, collect=False)
        answers.results.extend(map(clean, asked.unasked()))
        return asked.stopped if repeat == 1 or not asked.stopped else f"asking for time {repeat}: {asked.stopped}"


def check_modes(request: Request, inputs: Inputs) -> None:
    """Report which questions and modes are left out."""
    modes, cases = inputs.config.ask.modes, inputs.golden.cases
    idle, asked = 0, set[str]()
    for case in cases:
        own = [mode for mode in modes if asked_in(case.modes, mode)]
        idle += not own
        asked.update(own)
    if idle == len(cases):
        raise CannotTell(
            f"no question is for the configured modes ({', '.join(modes)}), so nothing was measured",
            hint="Change ask.modes, or `retriever_types` of the questions.",
        )
    if idle:
        of = f"{idle} of {counted(len(cases), 'question')}"
        request.say(f"{of} {'is' if idle == 1 else 'are'} for other modes and not asked")
    for mode in modes:
        if mode not in asked:
            request.say(f"no question is for mode {mode}")


def chosen(inputs: Inputs, results: Iterable[Result]) -> tuple[Result, ...]:
    """Choose the answers whose questions are asked again. Shards draw from the whole golden set, as one run does."""
    asking = inputs.config.ask
    questions = ((mode, case.id) for case, mode in questions_of(inputs.golden.cases, asking.modes))
    # more than needed, as some may have no answer
    lots = {*nsmallest(SPARE * asking.repeat_sample, questions, key=lambda question: lot(*question))}
    of_these = (result for result in results if (result.mode, result.case_id) in lots)
    return repeats.sample(of_these, asking.repeat_sample)


def ask_again(request: Request, inputs: Inputs, up: Booted, answers: AnswersSoFar) -> None:
    """Ask a few questions a second time, which counts for nothing but whether the API ranks the same again."""
    if not inputs.config.asks_again:
        if inputs.config.ask.repeat == 1 and inputs.config.ask.repeat_sample:
            request.say("a program is not asked twice, so raggate cannot tell whether it always ranks alike")
        return
    cases = by_id(inputs.golden.cases)
    questions = [(cases[result.case_id], result.mode) for result in chosen(inputs, answers.results)]
    if questions:
        answers.again = [*map(up.clean, up.adapter.ask(questions, up.api, on_result=lambda *_: None).results)]


def compared(inputs: Inputs, answers: AnswersSoFar) -> Repeated | None:
    """Compare the second answers of a whole run with the first ones; None where nothing was asked again."""
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


class Build(Struct, frozen=True, kw_only=True):
    """One build of the API: its settings, the directory that its source lies in, and what it is called.

    `source` says whose source that is; see `Workspace`. `checkout` is what is known of the commit it is of. `title`
    names a build that is not the API of the configuration, in a few words; empty for that one.
    """

    api: Api
    root: Path
    name: str = ""
    source: str = ""
    checkout: Checkout = field(default_factory=Checkout)
    title: str = ""


class Booted(Guarded, Struct, frozen=True, kw_only=True):
    """A build that is up: who asks it, and what takes secrets out of its answers and words."""

    adapter: Adapter
    api: Started
    clean: Callable[[Result], Result]
    secrets: tuple[str, ...]

    def log_tail(self) -> tuple[str, ...]:
        """Return the last lines of its output without secrets. Untrusted text."""
        return redacted(self.api.log_tail(), self.secrets)


class Place(Struct, frozen=True, kw_only=True):
    """Where a build leaves its files: `out`, below the directory `runs`; `identified` as in `Workspace`.

    `counted` takes each look at the index until the build is up.
    """

    out: Path
    runs: Path
    identified: Callable[[str], None] = field(default=lambda _: None)
    counted: Callable[[IndexState], None] = field(default=lambda _: None)


@contextmanager
def booted(request: Request, inputs: Inputs, build: Build, place: Place, before: Fingerprint) -> Iterator[Booted]:
    """Bring a build up; on leaving it is gone. `before` is the fingerprint of the baseline, empty without one."""
    settings = inputs.config
    secrets = _secrets(request, settings, build.api)

    workspace = Workspace(
        root=build.root,
        out=place.out.resolve(),
        runs=place.runs.resolve(),
        vaults=inputs.vault.directories,
        environment=request.environment,
        say=lambda line: request.say(redact.redact_cut(line, secrets)),
        in_action=request.action,
        secrets=secrets,
        identified=place.identified,
        source=build.source,
    )
    adapter: Adapter = made_of(settings, build.root, request.environment)
    if request.retriever is not None:
        # loaded only for those who use it
        from raggate.service.functions.in_process import FunctionAdapter

        adapter = FunctionAdapter(settings.ask, tuple(settings.vault), request.retriever)
    expected = _expected(inputs, before)

    def counted(client: httpx.Client, readiness: Readiness) -> IndexState:
        state = adapter.index_state(client, readiness)
        place.counted(state)
        return state

    # one that is spoken to by lines, or run for the questions, is started for that; at an address it is neither
    start = getattr(adapter, "start", None) if build.api.url is None else None
    ready = boot.up(build.api, workspace, index_state=counted, expected=expected, start=start)
    with _redacted_errors(secrets), _with_line(request, build), ready as api:
        yield Booted(adapter=adapter, api=api, clean=_cleaner(secrets, inputs.vault, settings), secrets=secrets)


def _expected(inputs: Inputs, before: Fingerprint) -> Expected:
    """Return what a complete index holds, also by the baseline's run if that was of the same notes."""
    chunks = before.get("chunks") if before.get("vault") == inputs.vault.hash else None
    # an API that leaves private notes out of its index is complete without them
    documents = len(inputs.vault.texts) - len(private_notes(inputs.vault, inputs.config.private))
    return Expected(documents=documents, chunks=chunks if type(chunks) is int else None)


def _secrets(request: Request, settings: Config, api: Api) -> tuple[str, ...]:
    """Return the values that nothing may show: the API may know them, or find them, and print them."""
    sections = [api.command, *api.containers().values()]
    names = [name for section in sections if section is not None for name in section.pass_env]
    headers = [settings.ask.headers, *(principal.headers for principal in settings.ask.principals.values())]
    names += [name for sent in headers for name in variables_in(sent.values())]
    return redact.of_environment(request.environment, names)


@contextmanager
def _redacted_errors(secrets: tuple[str, ...]) -> Iterator[None]:
    try:
        yield
    except RaggateError as error:
        error.lines = redacted(error.lines, secrets)
        error.hint = redact.redact_cut(error.hint, secrets)
        error.log = redacted(error.log, secrets)
        raise


@contextmanager
def _with_line(request: Request, build: Build) -> Iterator[None]:
    """Add the line of the file to an error about a key that refers to something missing."""
    try:
        yield
    except SettingError as error:
        if request.against is None and not request.overrides.api_build and not build.title:
            document = yamlio.parse(read_file(request.config_file), request.config_place)
            place = f"{document.name}:{document.line(tuple(error.key.split('.')))}"
            error.lines = (f"{place}: {error.lines[0]}", *error.lines[1:])
        raise


def redacted(lines: Sequence[str], secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Take secrets out of lines, and name and password out of URLs."""
    return tuple(without_userinfo(redact.redact_cut(line, secrets)) for line in lines)


def _cleaner(secrets: tuple[str, ...], notes: Vault, settings: Config) -> Callable[[Result], Result]:
    """Return what takes secrets out of a result, and before that finds headings if the settings want it."""
    note_texts = [text for name, note in notes.texts.items() for text in (*name, note)]
    scrub = redact.Scrubber(secret for secret in secrets if not any(secret in text for text in note_texts))

    def clean(result: Result) -> Result:
        if result.failure is None:
            response = scrub(result.response)
            return result if response is result.response else replace(result, response=response)
        message = redact.redact_cut(result.failure.message, secrets)
        return replace(result, failure=replace(result.failure, message=message))

    if not settings.ask.headings_by_text:
        return clean
    find = text_places.finder(notes)
    return lambda result: clean(text_places.with_headings(result, find))
