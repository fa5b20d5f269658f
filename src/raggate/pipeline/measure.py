"""The measuring half of the way: inputs -> boot -> ask -> score -> a run directory, whatever happens on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, reduce
from pathlib import Path
from typing import Any

from raggate import __version__
from raggate.config.retrieval_modes import asked_in
from raggate.config.schema import Config
from raggate.errors import CannotTell, Interrupted, RaggateError
from raggate.gate import selected, waivers, wording
from raggate.gate.other_systems import compat_scores
from raggate.inputs import leaks, notes as standing, sources, vault
from raggate.inputs.private_notes import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.fingerprint import Fingerprint, modes_of
from raggate.models.golden import Vault
from raggate.models.provenance import Provenance, RunCommand
from raggate.models.run import Probing, Result, Run
from raggate.models.scorecard import Scorecard
from raggate.models.selection import Selection
from raggate.pipeline import judging, run_directory
from raggate.pipeline.booted import Booted, Build, Place, booted, redacted
from raggate.pipeline.partial_run import PartialRun
from raggate.pipeline.probing import Prober
from raggate.pipeline.request import Request
from raggate.pipeline.result import RunFailed
from raggate.pipeline.second_answers import ask_again
from raggate.reports import OF_FAILURE, OF_RUN, MeasuredRun
from raggate.reports.progress import Progress
from raggate.scoring import repeats, score
from raggate.service import ask as suite, build_context, signals
from raggate.text import deadlines, redact
from raggate.text.numbers import rounded

_INDEX = {
    "index_version": ("index_version",),
    "chunker_version": ("chunker_version",),
    "documents": ("docs_processed",),
    "chunks": ("chunks_embedded",),
    "chunk_tokens": ("chunk_token_stats", "mean"),
}
"""What a fingerprint says of the index -> where the API tells it."""


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
    settings = inputs.config
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    directory = _directory(request, inputs, started, below)
    answers = PartialRun()
    with failure_reports(directory, settings):
        begin = time.monotonic()
        blank = blank_run(directory, started, request, inputs, selection, build, command=command)
        judge = judging.unjudged if selection else judging.ready(request, inputs, directory, baseline)
        inputs = replace(inputs, golden=selected.asked_of(inputs.golden, selection))
        notes, before = standing.Notes(inputs.vault), baseline.scorecard.fingerprint if baseline else {}
        try:
            stopped, log = _ask(request, inputs, build, directory, answers, before, boots, whole=selection is None)
            stopped = stopped or _changed_vault(inputs.vault)
            with deadlines.after_asking(len(answers.results)):
                run = answers.noted_in(blank)
                answered = finished_run(run, answers.results, begin, notes, stopped=stopped, log=log)
                answered = leaks.noted(answered, notes, settings.ask.probes.principals)
            finished = judge(answered)
            with deadlines.after_asking(len(answers.results)):
                return directory, finished, write(directory, finished, request, settings)
        except KeyboardInterrupt:
            due = len(suite.questions_of(inputs.golden.cases, settings.ask.modes)) * settings.ask.repeat
            progress = f"interrupted after {len(answers.results)} of {due} questions"
            unfinished = finished_run(answers.noted_in(blank), answers.results, begin, notes, stopped=progress)
            write(directory, replace(unfinished, interrupted=True), request, settings)
            hint = f"Partial results are in {_display_path(directory, request.root)}."
            raise Interrupted(progress, hint=hint) from None


def _directory(request: Request, inputs: Inputs, started: str, below: Path | None) -> Path:
    if below is not None:
        directory = below / "preview"
        directory.mkdir()
        return directory
    vault.say_malformed(inputs.vault, request.say)
    if request.out is None:
        run_directory.check_place(request.root, inputs.config.out)
    directory = run_directory.create(request.out or request.root / inputs.config.out, started)
    request.created(directory)
    return directory


def _ask(
    request: Request,
    inputs: Inputs,
    build: Build | None,
    directory: Path,
    answers: PartialRun,
    before: Fingerprint,
    boots: int,
    *,
    whole: bool = True,
) -> tuple[str | None, tuple[str, ...]]:
    """Boot and ask into `answers`, each at once; of a `whole` run, also what is asked beside the questions.

    Returns why it stopped early, and the log then or at an error.
    """
    settings = inputs.config
    check_modes(request, inputs)
    prober = Prober.of(inputs, request.environment) if whole else Prober(inputs, (), {})
    if prober.probes:
        request.say(f"asking {len(prober.probes)} questions for invariants too, after the suite")
    # a preview works in the directory of its run
    runs = directory.parent.parent if directory.name == "preview" else directory.parent
    place = Place(out=directory, runs=runs, identified=answers.images.append, counted=answers.note_index)
    build = build or Build(api=settings.api, root=request.root)
    times = settings.ask.repeat // boots
    log: tuple[str, ...] = ()
    for number in range(boots):
        with booted(request, inputs, build, place, before) as up, request.progress() as progress:
            ask_all = partial(_ask_all, inputs, up, answers, progress, request.answered)
            repeats_here = range(number * times + 1, (number + 1) * times + 1)
            stopped = next(filter(None, map(ask_all, repeats_here)), None)
            if stopped is None and settings.ask.repeat == 1 and whole:
                answers.repeated = ask_again(request, inputs, up, answers.results)
            if stopped is None and number == boots - 1:
                prober.ask(up, answers.probes)
                prober.ask_after_call(up, answers.probes)
            stopped = stopped or suite.ended_early(up.api)
            if stopped:
                return redact.redact_cut(stopped, up.secrets), up.log_tail()
            log = redacted(answers.log, up.secrets)
    again = Place(out=directory / "reindexed", runs=runs, identified=answers.images.append)
    prober.ask_after_boot(partial(booted, request, inputs, build, again, before), again.out, answers.probes)
    return None, log


def check_modes(request: Request, inputs: Inputs) -> None:
    """Say which questions and modes are left out.

    Raises:
        CannotTell: when nothing would be asked.
    """
    modes, cases = inputs.config.ask.modes, inputs.golden.cases
    idle = sum(not any(asked_in(case.modes, mode) for mode in modes) for case in cases)
    if idle == len(cases):
        raise CannotTell(
            f"no question is for the modes that are asked ({', '.join(modes)}): nothing was measured",
            hint="Change ask.modes, or the modes that the questions name (retriever_types).",
        )
    if idle:
        request.say(f"{idle} of {len(cases)} questions are for other modes and are not asked")
    for mode in modes:
        if not any(asked_in(case.modes, mode) for case in cases):
            request.say(f"no question is for mode {mode}")


def _ask_all(
    inputs: Inputs, up: Booted, answers: PartialRun, progress: Progress, heard: Callable[[Result], None], repeat: int
) -> str | None:
    """Ask every question once into `answers`, for the time that `repeat` counts. Returns why it stopped early."""
    asking = inputs.config.ask
    questions = suite.questions_of(inputs.golden.cases, asking.modes)
    before = len(answers.results)

    def clean(result: Result) -> Result:
        return replace(up.clean(result), repeat=repeat)

    def keep(result: Result, done: int, total: int) -> None:
        answers.note_failure(result, up.api)
        answers.results.append(clean(result))
        heard(answers.results[-1])
        progress.advance(before + done, total * asking.repeat, answers.failed)

    asked = up.adapter.ask(questions, up.api, on_result=keep)
    answers.results[before:] = map(clean, asked.results)
    return asked.stopped if repeat == 1 or not asked.stopped else f"asking for time {repeat}: {asked.stopped}"


def _changed_vault(notes: Vault) -> str | None:
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
    begin: float,
    notes: standing.Notes,
    *,
    stopped: str | None,
    log: tuple[str, ...] = (),
) -> Run:
    """Give the run that results make: in order, labelled, with what the API says of its index.

    Args:
        blank: the run before anything was asked.
        results: the results, in any order.
        begin: when asking began, by `time.monotonic`.
        notes: the vault's notes.
        stopped: why it was cut short, None when it was not.
        log: the API's last lines then.
    """
    by_id = {case.id: (position, case) for position, case in enumerate(blank.golden.cases)}
    modes = {mode: position for position, mode in enumerate(modes_of(blank.fingerprint))}
    ordered = sorted(results, key=lambda result: (result.repeat, modes[result.mode], by_id[result.case_id][0]))
    index: dict[str, object] = {}
    for result in ordered:
        coverage = (result.response.coverage if result.response else None) or {}
        for key, path in _INDEX.items():
            value = reduce(_entry, path, coverage)
            if value is not None:
                index.setdefault(key, value)
    labelled = [notes.label(score.label(by_id[result.case_id][1], result)) for result in ordered]
    run = replace(
        blank,
        probes=replace(blank.probes, answers=tuple(map(notes.label_probe, blank.probes.answers))),
        results=tuple(item for item in labelled if item.result.repeat == 1),
        repeats=tuple(item for item in labelled if item.result.repeat > 1),
        fingerprint={**blank.fingerprint, **index},
        duration_s=rounded(time.monotonic() - begin, 3),
        stopped=stopped,
        log=log,
    )
    return repeats.noted(run)


def _entry(part: Any, name: str) -> Any:
    return part.get(name) if isinstance(part, dict) else None


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
