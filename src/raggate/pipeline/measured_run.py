"""The answers of a run -> the run: labelled, judged, scored, and written into its directory, however it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate import __version__
from raggate.config.schema import Config
from raggate.errors import Interrupted
from raggate.gate.other_systems import compat_scores
from raggate.inputs import leaks, sources
from raggate.inputs.leaks import private_notes
from raggate.inputs.notes import Notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case, Selection, places_of
from raggate.models.provenance import Provenance, RunCommand, modes_of
from raggate.models.run import LabelledResult, Probing, Result, Run
from raggate.models.scorecard import Scorecard
from raggate.pipeline import run_directory
from raggate.pipeline.answers import AnswersSoFar, note_index_facts
from raggate.pipeline.asking import compared
from raggate.pipeline.booted import Build
from raggate.pipeline.failure_reports import display_path
from raggate.pipeline.request import Request
from raggate.pipeline.unfinished_run import UnfinishedRun
from raggate.reports import OF_RUN, MeasuredRun
from raggate.scoring import repeats, score
from raggate.service import build_context
from raggate.service.ask import questions_of
from raggate.text import dates
from raggate.text.numbers import rounded


def in_order(cases: Sequence[Case], modes: Iterable[str], results: Sequence[Result]) -> Iterator[tuple[Case, Result]]:
    """Yield each result with its case.

    Args:
        modes: the modes, in their order.
        results: the results, in any order.

    Raises:
        ValueError: for a second answer to a question that was asked once.
    """
    places, numbers = places_of(cases), {mode: number for number, mode in enumerate(modes)}
    known: dict[tuple[int, int, int], Result] = {}
    for result in results:
        question = result.repeat, numbers[result.mode], places[result.case_id]
        if known.setdefault(question, result) is not result:
            raise ValueError(f"two answers to {result.case_id} in mode {result.mode}")
    for question in sorted(known):
        yield cases[question[2]], known[question]


class Finish(Struct, frozen=True, kw_only=True):
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
        settings, notes = self.inputs.config, Notes(self.inputs.vault)
        with dates.after_asking(len(answers.results)):
            run = finished_run(self._noted(answers), answers.results, seconds, notes, stopped=stopped, log=log)
            run = leaks.noted(run, notes, settings.ask.probes.principals)
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
        return Interrupted(progress, hint=f"{hint} To go on: {way_on}" if way_on else hint)

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
    """Return a run of which nothing is known but how it is measured.

    `started` is ISO 8601; `build` and `kept`, its answers on disk, tell which checkout is measured where there are any.
    """
    settings = inputs.config
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
    notes: Notes,
    *,
    stopped: str | None,
    log: tuple[str, ...] = (),
) -> Run:
    """Return the run that results make: in order, labelled, with what the API says of its index.

    Args:
        blank: the run before anything was asked.
        results: the results, in any order.
        stopped: why it was cut short, None when it was not.
    """
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
    if settings.trace:
        run_directory.write_trace(directory, run, full_text=full_text)
    return scorecard
