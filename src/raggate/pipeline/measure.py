"""The measuring half of the way: inputs -> boot -> ask -> score -> a run directory, whatever happens on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate import __version__
from raggate.base import dates
from raggate.base.dates import now
from raggate.base.errors import CannotTell, Interrupted, RaggateError
from raggate.base.numbers import rounded
from raggate.config.schema import Config
from raggate.gate import calibration, wording
from raggate.gate.other_systems import compat_scores
from raggate.inputs import dependencies, golden, leaks, sources, vault
from raggate.inputs.leaks import private_notes
from raggate.inputs.notes import Notes
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline, Calibration
from raggate.models.golden import Case, Selection, Vault, places_of
from raggate.models.provenance import IN_PROCESS, Checkout, Provenance, RunCommand, modes_of
from raggate.models.run import LabelledResult, Probing, Result, Run
from raggate.models.scorecard import Scorecard
from raggate.pipeline import judging, run_directory, unfinished_run
from raggate.pipeline.answers import AnswersSoFar, note_index_facts
from raggate.pipeline.asking import Build, Part, check_modes, compared
from raggate.pipeline.request import Request, RunResult
from raggate.pipeline.run_directory import begun, display_path, failure_reports
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.pipeline.unfinished_run import UnfinishedRun
from raggate.reports import OF_CHECK, OF_RUN, MeasuredRun
from raggate.scoring import repeats, score
from raggate.service import build_context, signals
from raggate.service.ask import questions_of


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
        below: the run directory that this is a part of: it gets this one's files in `preview`.
        baseline: tells how large the index was.
        boots: how often the API is booted, each time for an equal part of `ask.repeat`.
        build: what is booted in place of the working tree's API.
    """
    with ExitStack() as stack:
        resumable = None if build or boots > 1 or below or request.retriever is not None else command
        directory, started, kept = directory_of(stack, request, inputs, selection, resumable, below)
        blank = blank_run(directory, started, request, inputs, selection, build, kept, command=command)
        judge = judging.unjudged if selection else judging.ready(request, inputs, directory)
        inputs = replace(inputs, golden=golden.asked_of(inputs.golden, selection))
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
            kept=kept,
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
            origin = replace(finish.blank.provenance, resumed=kept.asking.resumed)
            finish = replace(finish, blank=replace(finish.blank, provenance=origin))
        finished = finish.done(answers, time.monotonic() - begin, stopped=stopped, log=log)
        if kept is not None:
            kept.done()
        if part.build is None and part.directory.parent == part.runs:
            # until what is done with the run begins, which leaves the reason in its directory
            signals.settle()
        return finished
    except CannotTell as error:
        if part.build is None:
            error.hint = f"{_look_at(part.request, part.inputs)}{error.hint}"
        raise
    except KeyboardInterrupt:
        way_on = ""
        if kept is not None and kept.can_be_resumed(answers):
            way_on = part.request.resuming(kept.asking.command, kept.directory, finish.blank.selection)
        raise finish.cut_short(answers, time.monotonic() - begin, way_on) from None


def _look_at(request: Request, inputs: Inputs) -> str:
    """Return what to look at first if nothing can be measured: an upgrade that the change makes may not start."""
    texts: tuple[str, ...] = ()
    with suppress(RaggateError):
        checkout = Checkout() if inputs.against is None else sources.head(request.root, request.remote)
        texts = versions_changed(request, inputs, checkout, asking=True)
    return f"Look first at what changed beside the notes: {', '.join(texts)}. " if texts else ""


def versions_changed(request: Request, inputs: Inputs, checkout: Checkout, *, asking: bool) -> tuple[str, ...]:
    """Describe the versions that a change edits; none if the commit that was measured is not known."""
    if inputs.against is None or checkout.commit is None:
        return ()
    on_disk = asking and checkout.dirty is True and not request.in_job
    return dependencies.changes(request.root, inputs.against, checkout.commit, request.remote, on_disk=on_disk)


def of_answers(request: Request, inputs: Inputs, answers: AnswersSoFar) -> tuple[Path, Run, Scorecard]:
    """Write the run directory of answers that were asked for elsewhere, as `measure` does of those it asks for."""
    with ExitStack() as stack:
        directory = run_place(stack, request, inputs, answers.started)
        blank = blank_run(directory, answers.started, request, inputs, command="run")
        judge = judging.ready(request, inputs, directory)
        finish = Finish(request=request, inputs=inputs, directory=directory, blank=blank, judge=judge)
        return directory, *finish.done(answers, answers.seconds, stopped=None, log=answers.log)


def changed_vault(notes: Vault) -> str | None:
    """The warning for notes on disk that changed since the questions were checked against them."""
    changed = vault.changed_since(notes)
    return f"the vault changed while it was measured: {wording.some(changed)}" if changed else None


def calibrate(request: Request, runs: int, *, boot_each: bool) -> tuple[RunResult, Calibration]:
    """Ask everything at least twice; leave a run directory, which can be promoted, and with it the noise."""
    with load_inputs(request) as inputs:
        boots = runs if boot_each else 1
        asking = replace(inputs, config=inputs.config.asking(repeat=runs))
        directory, run, scorecard = measure(request, asking, boots=boots, command="calibrate")
        measured = Calibration(run=run, scorecard=scorecard, boots=boots, pairs=0, alarms={})
        if run.stopped is None:
            with failure_reports(directory, asking.config), dates.after_asking(runs * len(run.results)):
                alarms, pairs = calibration.alarms_by_policy(calibration.separate(run), asking.config.gate)
                measured = replace(measured, pairs=pairs, alarms=alarms)
        return RunResult(run=run, directory=directory), measured


def in_order(cases: Sequence[Case], modes: Iterable[str], results: Sequence[Result]) -> Iterator[tuple[Case, Result]]:
    """Yield each result with its case, by repeat, mode and case."""
    places, numbers = places_of(cases), {mode: number for number, mode in enumerate(modes)}
    known: dict[tuple[int, int, int], Result] = {}
    for result in results:
        question = result.repeat, numbers[result.mode], places[result.case_id]
        if known.setdefault(question, result) is not result:
            raise ValueError(f"two answers to {result.case_id} in mode {result.mode}")
    for question in sorted(known):
        yield cases[question[2]], known[question]


class Finish(Struct, frozen=True, kw_only=True):
    """The answers of a run -> the run, labelled and judged, in its directory. `blank` is the run without answers."""

    request: Request
    inputs: Inputs
    directory: Path
    blank: Run
    judge: Callable[[Run], Run]

    def done(
        self, answers: AnswersSoFar, seconds: float, *, stopped: str | None, log: tuple[str, ...]
    ) -> tuple[Run, Scorecard]:
        """Label, judge, write and score; `stopped` and `log` as of `finished_run`."""
        settings, notes = self.inputs.config, Notes(self.inputs.vault)
        with dates.after_asking(len(answers.results)):
            run = finished_run(self._noted(answers), answers.results, seconds, notes, stopped=stopped, log=log)
            run = leaks.noted(run, notes, settings.ask.principals)
        finished = self.judge(run)
        with dates.after_asking(len(answers.results)):
            return finished, write(self.directory, finished, self.request, settings)

    def cut_short(self, answers: AnswersSoFar, seconds: float, way_on: str = "") -> Interrupted:
        """Write what was answered before a signal came, and give the error that says so; `way_on` is how to go on."""
        asking = self.inputs.config.ask
        due = len(questions_of(self.inputs.golden.cases, asking.modes)) * asking.repeat
        progress = answers.interrupted(due)
        notes = Notes(self.inputs.vault)
        run = finished_run(self._noted(answers), answers.results, seconds, notes, stopped=progress)
        write(self.directory, replace(run, interrupted=True), self.request, self.inputs.config)
        hint = f"Partial results are in {display_path(self.directory, self.request.root)}."
        return Interrupted(progress, hint=f"{hint} To continue: {way_on}" if way_on else hint)

    def _noted(self, answers: AnswersSoFar) -> Run:
        answers.repeated = compared(self.inputs, answers)
        return answers.noted_in(self.blank)


def blank_run(
    directory: Path,
    started: str,
    request: Request,
    inputs: Inputs,
    selection: Selection | None = None,
    build: Build | None = None,
    kept: UnfinishedRun | None = None,
    *,
    command: RunCommand,
) -> Run:
    """Return a run without results; `build`, or `kept`, its answers on disk, tell which checkout is measured."""
    settings = inputs.config
    # the commit that a first run is held against has no configuration
    again = replace(request, against=None) if inputs.first_run else request
    judging = (settings.golden, settings.baseline_path)
    seen = build or kept
    checkout = seen.checkout if seen is not None else None
    return Run(
        run_id=directory.name,
        suite=settings.suite,
        started=started,
        golden=inputs.golden,
        results=(),
        config=settings,
        provenance=Provenance(
            raggate_version=__version__,
            checkout=checkout or sources.head(request.root, request.remote),
            against=inputs.against,
            ignored=tuple(inputs.ignored),
            in_build_context=tuple(build_context.exposed(settings.api, request.root, judging)),
            in_vaults=build_context.in_vaults(settings.api, settings.vault, inputs.vault.directories, judging),
            baseline_name=inputs.baseline.name if inputs.baseline else None,
            baseline_commit=inputs.baseline.commit if inputs.baseline else None,
            reproduce=again.reproducing(selection) if build is None and request.retriever is None else "",
            command=command,
            build=build.title if build is not None else IN_PROCESS if request.retriever is not None else "",
        ),
        fingerprint={**inputs.fingerprint(), "notes": inputs.vault.notes},
        probes=Probing(private=private_notes(inputs.vault, settings.private)),
        selection=selection,
    )


def finished_run(
    blank: Run,
    results: Sequence[Result],
    seconds: float,
    notes: Notes,
    *,
    stopped: str | None,
    log: tuple[str, ...] = (),
) -> Run:
    """Return the run that results make: in order, labelled, with what the API says of its index."""
    index: dict[str, object] = {}
    first, later = list[LabelledResult](), list[LabelledResult]()
    for case, result in in_order(blank.golden.cases, modes_of(blank.fingerprint), results):
        note_index_facts(result, index)
        (first if result.repeat == 1 else later).append(notes.label(score.label(case, result)))
    run = replace(
        blank,
        probes=replace(blank.probes, answers=tuple(map(notes.label_probe, blank.probes.answers))),
        results=tuple(first),
        repeats=tuple(later),
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
    compat = compat_scores(run, settings.score.compat, full_text=full_text)
    run_directory.write_reports(directory, OF_RUN, MeasuredRun(run=run, scorecard=scorecard, compat=compat))
    return scorecard


def directory_of(
    stack: ExitStack,
    request: Request,
    inputs: Inputs,
    selection: Selection | None,
    command: RunCommand | None,
    below: Path | None,
) -> tuple[Path, str, UnfinishedRun | None]:
    """Make the directory of a run, or find the one that goes on. Returns when it began too, and its answers so far.

    Until `stack` is left, whatever ends the run leaves the reason in the directory. Without `command` none are kept.
    """
    started = now()
    # in the action what is left would be another job's to find
    if command in {"check", "run"} and not request.action:
        cases = golden.asked_of(inputs.golden, selection).cases
        kept = stack.enter_context(_kept(stack, request, inputs, cases, command, started))
        if kept.resumes:
            begun(stack, lambda: _cleared(kept.directory), inputs.config)
        return kept.directory, kept.asking.started, kept
    if below is None:
        return run_place(stack, request, inputs, started), started, None
    return begun(stack, lambda: _made(below / "preview"), inputs.config), started, None


def _kept(
    stack: ExitStack, request: Request, inputs: Inputs, cases: Sequence[Case], command: RunCommand, started: str
) -> UnfinishedRun:
    checkout = sources.head(request.root, request.remote)
    asking = unfinished_run.asking(request, inputs, cases, command, started, checkout)
    resumes = request.resume is not None
    directory = unfinished_run.place(request) if resumes else run_place(stack, request, inputs, started)
    return UnfinishedRun(directory=directory, asking=asking, checkout=checkout, resumes=resumes, say=request.say)


def _cleared(directory: Path) -> Path:
    for name in (*OF_CHECK, *OF_RUN):
        (directory / name).unlink(missing_ok=True)
    return directory


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def run_place(stack: ExitStack, request: Request, inputs: Inputs, started: str) -> Path:
    """Make the directory of a run, in which whatever ends the run before `stack` is left leaves the reason."""
    vault.say_malformed(inputs.vault, request.say)
    runs = run_directory.safe_runs(request)
    directory = begun(stack, lambda: run_directory.create(runs, started), inputs.config)
    request.voice.created(directory)
    return directory
