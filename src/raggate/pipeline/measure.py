"""The measuring half of the way: inputs -> boot -> ask -> score -> a run directory, whatever happens on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from raggate import __version__
from raggate.config.schema import Config
from raggate.errors import Interrupted, RaggateError
from raggate.gate import selected, waivers, wording
from raggate.gate.other_systems import compat_scores
from raggate.inputs import leaks, notes as standing, sources, vault
from raggate.inputs.private_notes import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.fingerprint import modes_of
from raggate.models.golden import Vault
from raggate.models.provenance import Provenance, RunCommand
from raggate.models.run import Probing, Result, Run
from raggate.models.run_packing import LABELLED
from raggate.models.scorecard import Scorecard
from raggate.models.selection import Selection
from raggate.pipeline import index_facts, judging, run_directory, run_order, stopping
from raggate.pipeline.answers import answer_cache
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.asking import Part, check_modes
from raggate.pipeline.booted import Build
from raggate.pipeline.request import Request
from raggate.pipeline.result import RunFailed
from raggate.pipeline.run_place import directory_of, run_place
from raggate.pipeline.second_answers import compared
from raggate.pipeline.shards import workers
from raggate.reports import OF_FAILURE, OF_RUN, MeasuredRun
from raggate.scoring import repeats, score
from raggate.service import ask as suite, build_context, signals
from raggate.text import deadlines
from raggate.text.long_sequence import LongSequence
from raggate.text.numbers import rounded


def measure(
    request: Request,
    inputs: Inputs,
    below: Path | None = None,
    *,
    baseline: Baseline | None = None,
    boots: int = 1,
    selection: Selection | None = None,
    build: Build | None = None,
    command: RunCommand = "check",
) -> tuple[Path, Run, Scorecard]:
    """Boot the API, ask every case, label the answers and write the run directory, also when it goes wrong.

    Args:
        request: what the front end asks for.
        inputs: what to measure by.
        below: the run directory of which this is only a part, and which then holds this one's files in `preview`.
        baseline: what the run will be held against, which tells how large its index was and how answers were graded.
        boots: how often the API is booted, each time for an equal part of `ask.repeat`, which it divides.
        selection: the questions that are asked; None for all of them, and whatever is asked beside them.
        build: what is booted in place of the working tree's API.
        command: the command that measures.
    """
    workers.check(inputs.config, request.workers)
    cache = answer_cache.of_run(request, inputs, boots=boots, selection=selection, below=below)
    with ExitStack() as stack:
        resumable = None if build or boots > 1 or below else command
        directory, started, kept = directory_of(stack, request, inputs, selection, resumable, below)
        stack.enter_context(failure_reports(directory, inputs.config))
        blank = blank_run(directory, started, request, inputs, selection, build, command=command)
        judge = judging.unjudged if selection else judging.ready(request, inputs, directory, baseline)
        inputs = replace(inputs, golden=selected.asked_of(inputs.golden, selection))
        part = Part(
            request=request,
            inputs=inputs,
            cases=inputs.golden.cases,
            directory=directory,
            runs=(below or directory).parent,
            before=baseline.scorecard.fingerprint if baseline else {},
            build=build,
            boots=boots,
            again=selection is None,
            probes=selection is None,
            workers=request.workers if boots == 1 else 1,
            kept=kept,
            cache=cache,
            stopping=stopping.of_run(request, inputs, baseline, resumable, started),
        )
        finish = Finish(request=request, inputs=inputs, directory=directory, blank=blank, judge=judge)
        return directory, *_finished(part, finish)


def _finished(part: Part, finish: Finish) -> tuple[Run, Scorecard]:
    """Ask, and write what came of it, also when somebody interrupts it."""
    answers, kept = AnswersSoFar(), part.kept
    begin = time.monotonic() - (kept.asking.seconds if kept is not None else 0.0)
    try:
        check_modes(part.request, part.inputs)
        if kept is not None:
            kept.load(answers, part.cases)
        stopped, log = part.ask(answers)
        stopped = stopped or changed_vault(part.inputs.vault)
        if kept is not None:
            kept.check_index(answers)
            finish = replace(finish, blank=kept.noted_in(finish.blank))
        if part.stopping is not None and part.heard_enough:
            answers.results, asked = part.stopping.kept(answers.results, len(part.cases))
            finish = replace(finish, blank=replace(finish.blank, selection=asked), judge=judging.unjudged)
        finished = finish.done(answers, time.monotonic() - begin, stopped=stopped, log=log)
        if kept is not None:
            kept.done()
        if part.cache is not None:
            part.cache.keep(finished[0], answers)
        return finished
    except KeyboardInterrupt:
        way_on = ""
        if kept is not None and kept.can_go_on(answers):
            way_on = part.request.resuming(kept.asking.command, kept.directory, finish.blank.selection)
        raise finish.cut_short(answers, time.monotonic() - begin, way_on) from None


def of_answers(request: Request, inputs: Inputs, answers: AnswersSoFar) -> tuple[Path, Run, Scorecard]:
    """Write the run directory of answers that were asked for elsewhere, as `measure` does of those it asks for.

    Args:
        request: what the front end asks for.
        inputs: what was measured by.
        answers: all of a whole run, and when they were asked for.
    """
    directory = run_place(request, inputs, answers.started)
    with failure_reports(directory, inputs.config):
        blank = blank_run(directory, answers.started, request, inputs, command="run")
        judge = judging.ready(request, inputs, directory, None)
        finish = Finish(request=request, inputs=inputs, directory=directory, blank=blank, judge=judge)
        return directory, *finish.done(answers, answers.seconds, stopped=None, log=answers.log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The answers of a run -> the run, labelled and judged, in its directory; the same wherever they were asked for.

    Attributes:
        request: what the front end asks for.
        inputs: what was measured by.
        directory: the run directory.
        blank: the run before anything was asked.
        judge: adds what judges say of the answers.
    """

    request: Request
    inputs: Inputs
    directory: Path
    blank: Run
    judge: Callable[[Run], Run]

    def done(
        self, answers: AnswersSoFar, seconds: float, *, stopped: str | None, log: tuple[str, ...]
    ) -> tuple[Run, Scorecard]:
        """Label, judge, write and score; `stopped` and `log` as of `finished_run`."""
        settings, notes = self.inputs.config, standing.Notes(self.inputs.vault)
        with deadlines.after_asking(len(answers.results)):
            run = finished_run(self._noted(answers), answers.results, seconds, notes, stopped=stopped, log=log)
            run = leaks.noted(run, notes, settings.ask.probes.principals)
        finished = self.judge(run)
        with deadlines.after_asking(len(answers.results)):
            return finished, write(self.directory, finished, self.request, settings)

    def cut_short(self, answers: AnswersSoFar, seconds: float, way_on: str = "") -> Interrupted:
        """Write what was answered before a signal came, and give the error that says so; `way_on` is how to go on."""
        asking = self.inputs.config.ask
        due = len(suite.questions_of(self.inputs.golden.cases, asking.modes)) * asking.repeat
        progress = f"interrupted after {len(answers.results)} of {due} questions"
        notes = standing.Notes(self.inputs.vault)
        run = finished_run(self._noted(answers), answers.results, seconds, notes, stopped=progress)
        write(self.directory, replace(run, interrupted=True), self.request, self.inputs.config)
        hint = f"Partial results are in {_display_path(self.directory, self.request.root)}."
        return Interrupted(progress, hint=f"{hint} To go on: {way_on}" if way_on else hint)

    def _noted(self, answers: AnswersSoFar) -> Run:
        answers.repeated = compared(self.inputs, answers)
        return answers.noted_in(self.blank)


def changed_vault(notes: Vault) -> str | None:
    """Say that the notes on disk are not those any more by which the questions are scored."""
    changed = vault.changed_since(notes)
    return f"the vault changed while it was measured: {wording.some(changed)}" if changed else None


def blank_run(
    directory: Path,
    started: str,
    request: Request,
    inputs: Inputs,
    selection: Selection | None = None,
    build: Build | None = None,
    *,
    command: RunCommand,
) -> Run:
    """Give a run of which nothing is known but how it is measured; `started` is ISO 8601."""
    settings = inputs.config
    judging = (settings.golden, settings.baseline_path)
    return Run(
        run_id=directory.name,
        suite=settings.suite,
        started=started,
        golden=inputs.golden,
        results=(),
        config=settings,
        provenance=Provenance(
            raggate_version=__version__,
            checkout=sources.head(request.root, request.remote) if build is None else build.checkout,
            against=inputs.against,
            ignored=tuple(inputs.ignored),
            in_build_context=tuple(build_context.exposed(settings.api, request.root, judging)),
            baseline_name=inputs.baseline.name if inputs.baseline else None,
            baseline_commit=inputs.baseline.commit if inputs.baseline else None,
            reproduce=request.reproducing(selection) if build is None else "",
            command=command,
            build="" if build is None else build.title,
        ),
        fingerprint={**inputs.fingerprint(), "notes": inputs.vault.notes},
        probes=Probing(private=private_notes(inputs.vault, settings.private)),
        selection=selection,
    )


def finished_run(
    blank: Run,
    results: Sequence[Result],
    seconds: float,
    notes: standing.Notes,
    *,
    stopped: str | None,
    log: tuple[str, ...] = (),
) -> Run:
    """Give the run that results make: in order, labelled, with what the API says of its index.

    Args:
        blank: the run before anything was asked.
        results: the results, in any order.
        seconds: how long it took.
        notes: the vault's notes.
        stopped: why it was cut short, None when it was not.
        log: the API's last lines then.
    """
    index: dict[str, object] = {}
    first, later = LongSequence(LABELLED), LongSequence(LABELLED)
    for case, result in run_order.in_order(blank.golden.cases, modes_of(blank.fingerprint), results):
        index_facts.note(result, index)
        (first if result.repeat == 1 else later).append(notes.label(score.label(case, result)))
    run = replace(
        blank,
        probes=replace(blank.probes, answers=tuple(map(notes.label_probe, blank.probes.answers))),
        results=first[:],
        repeats=later[:],
        fingerprint={**blank.fingerprint, **index},
        duration_s=rounded(seconds, 3),
        stopped=stopped,
        log=log,
    )
    return repeats.noted(run)


def write(directory: Path, run: Run, request: Request, settings: Config) -> Scorecard:
    """Write what a run measured into its directory, and give its scores. What is judged keeps its whole texts."""
    full_text = request.full_text or settings.judging is not None
    run_directory.write(directory, run, full_text=full_text)
    scorecard = score.score(run, settings.score.k)
    compat = compat_scores(run, settings.score.compat, request.systems, full_text=full_text)
    run_directory.write_reports(directory, OF_RUN, MeasuredRun(run=run, scorecard=scorecard, compat=compat))
    if settings.trace:
        run_directory.write_trace(directory, run, full_text=full_text)
    return scorecard


@contextmanager
def failure_reports(directory: Path, settings: Config) -> Iterator[None]:
    """Leave the reason in the run directory when what is done in it ends without a verdict.

    Raises:
        RunFailed: for that end, with the waivers that stand.
    """
    try:
        with signals.unwrapped():
            yield
    except KeyboardInterrupt:
        hint = f"What was done so far is in {_display_path(directory)}."
        error = Interrupted("interrupted before there was a verdict", hint=hint)
        raise _failed(directory, error, settings) from None
    except RaggateError as error:
        raise _failed(directory, error, settings) from error


def _display_path(directory: Path, root: Path | None = None) -> str:
    """Name a run directory from where people are, or from the configuration: where a machine has it is nobody's."""
    path = Path.cwd() / directory
    parents = [Path.cwd()] if root is None else [Path.cwd(), root]
    relative = (path.relative_to(parent) for parent in parents if path.is_relative_to(parent))
    return next(relative, Path(path.name)).as_posix()


def _failed(directory: Path, error: RaggateError, settings: Config) -> RunFailed:
    """Write the reports of an error, and give it with what they tell."""
    standing_waivers = waivers.waiver_statuses(settings.waivers, datetime.now(UTC).isoformat())
    failed = RunFailed(error, suite=settings.suite, waivers=standing_waivers, directory=directory)
    run_directory.write_reports(directory, OF_FAILURE, failed.failure)
    return failed
