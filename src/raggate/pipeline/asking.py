"""The part of a run that one process asks: its questions, and what is asked beside them, each answer kept at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from functools import partial
from heapq import nsmallest
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.question_settings import asked_in
from raggate.errors import CannotTell
from raggate.inputs import probe_plan
from raggate.inputs.leaks import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case, by_id
from raggate.models.provenance import Fingerprint
from raggate.models.run import Probe, ProbeAnswer, Result
from raggate.pipeline.answers import AnswersSoFar
from raggate.pipeline.booted import Booted, Build, Place, booted, redacted
from raggate.pipeline.request import Request
from raggate.pipeline.unfinished_run import UnfinishedRun
from raggate.reports.progress import Progress
from raggate.scoring import noise, repeats, score
from raggate.scoring.repeats import Repeated
from raggate.service.adapters.mapped import filled_text, variables
from raggate.service.ask import ended_early, questions_of
from raggate.text import redact
from raggate.text.numbers import counted, lot
from raggate.text.redact import Guarded

SPARE = 2
"""So many times the sample may be drawn from, as questions without an answer are not asked again."""


class Prober(Guarded, Struct, frozen=True):
    """The probes of a run, and who asks them.

    Attributes:
        inputs: what is measured by.
        probes: what is to be asked, in order.
        headers: by principal, what tells the API who asks.
    """

    inputs: Inputs
    probes: tuple[Probe, ...]
    headers: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, inputs: Inputs, environment: Mapping[str, str]) -> Prober:
        """Plan the probes.

        Args:
            environment: raggate's own, of which headers of principals hold what the settings name.

        Raises:
            UsageError: for a variable that a principal's header needs and that is not set, or unfit for one.
        """
        private = private_notes(inputs.vault, inputs.config.private)
        probes = probe_plan.plan(inputs.config, inputs.golden, inputs.vault, private)
        headers = {}
        for name in dict.fromkeys(probe.principal for probe in probes if probe.principal):
            templates = inputs.config.ask.probes.principals[name].headers
            values = variables(templates, environment, f"ask.probes.principals.{name}.headers")
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
    """What one process asks of a run.

    Attributes:
        request: what the front end asks for.
        inputs: what is measured by.
        cases: the questions.
        directory: where the API leaves its files.
        runs: the directory of all runs, which no API sees.
        before: the fingerprint of the baseline, which tells how large its index was; empty without one.
        build: what is booted in place of the working tree's API.
        boots: how often the API is booted, each time for an equal part of `ask.repeat`, which it divides.
        again: whether a few questions are asked a second time; only where all are asked once.
        probes: whether it asks what invariants need beside the questions.
        kept: keeps the answers as they come, and has those from before the process was killed; None to keep none.
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
        place = Place(
            out=self.directory,
            runs=self.runs,
            identified=answers.images.append,
            counted=answers.note_index,
        )
        build = self.build or Build(api=inputs.config.api, root=request.root)
        log: tuple[str, ...] = ()
        for number in range(self.boots):
            with booted(request, inputs, build, place, self.before) as up, request.progress() as progress:
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
        """Ask every question once into `answers`, for the time that `repeat` counts. Returns why it broke off."""
        questions: Sequence[tuple[Case, str]] = questions_of(self.cases, self.inputs.config.ask.modes)
        ask = partial(self._ask_these, up, answers, progress, repeat)
        if self.kept is not None:
            questions = self.kept.left(questions, repeat)
        return ask(questions)

    def _ask_these(
        self,
        up: Booted,
        answers: AnswersSoFar,
        progress: Progress,
        repeat: int,
        questions: Sequence[tuple[Case, str]],
    ) -> str | None:
        asking = self.inputs.config.ask
        total, before = len(questions_of(self.cases, asking.modes)) * asking.repeat, len(answers.results)
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
    """Say which questions and modes are left out.

    Raises:
        CannotTell: when nothing would be asked.
    """
    modes, cases = inputs.config.ask.modes, inputs.golden.cases
    idle, asked = 0, set[str]()
    for case in cases:
        own = [mode for mode in modes if asked_in(case.modes, mode)]
        idle += not own
        asked.update(own)
    if idle == len(cases):
        raise CannotTell(
            f"no question is for the modes that are asked ({', '.join(modes)}): nothing was measured",
            hint="Change ask.modes, or the modes that the questions name (retriever_types).",
        )
    if idle:
        of = f"{idle} of {counted(len(cases), 'question')}"
        request.say(f"{of} {'is' if idle == 1 else 'are'} for other modes and not asked")
    for mode in modes:
        if mode not in asked:
            request.say(f"no question is for mode {mode}")


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
