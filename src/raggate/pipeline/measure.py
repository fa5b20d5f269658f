"""The measuring half of the way: inputs -> boot -> ask -> score -> a run directory, whatever happens on the way."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from raggate.gate import calibration, wording
from raggate.inputs import golden, vault
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline, Calibration
from raggate.models.golden import Selection, Vault
from raggate.models.provenance import RunCommand
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.pipeline import judging
from raggate.pipeline.answers import AnswersSoFar
from raggate.pipeline.asking import Part, check_modes
from raggate.pipeline.booted import Build
from raggate.pipeline.failure_reports import failure_reports
from raggate.pipeline.measured_run import Finish, blank_run
from raggate.pipeline.request import Request, RunResult
from raggate.pipeline.run_place import directory_of, run_place
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.service import signals
from raggate.text import dates


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
        below: the run directory of which this is only a part, and which then holds this one's files in `preview`.
        baseline: what the run will be held against, which tells how large its index was.
        boots: how often the API is booted, each time for an equal part of `ask.repeat`, which it divides.
        selection: the questions that are asked; None for all of them, and whatever is asked beside them.
        build: what is booted in place of the working tree's API.
    """
    with ExitStack() as stack:
        resumable = None if build or boots > 1 or below else command
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
            finish = replace(finish, blank=kept.noted_in(finish.blank))
        finished = finish.done(answers, time.monotonic() - begin, stopped=stopped, log=log)
        if kept is not None:
            kept.done()
        if part.build is None and part.directory.parent == part.runs:
            # until what is done with the run begins, which leaves the reason in its directory
            signals.settle()
        return finished
    except KeyboardInterrupt:
        way_on = ""
        if kept is not None and kept.can_be_resumed(answers):
            way_on = part.request.resuming(kept.asking.command, kept.directory, finish.blank.selection)
        raise finish.cut_short(answers, time.monotonic() - begin, way_on) from None


def of_answers(request: Request, inputs: Inputs, answers: AnswersSoFar) -> tuple[Path, Run, Scorecard]:
    """Write the run directory of answers that were asked for elsewhere, as `measure` does of those it asks for."""
    with ExitStack() as stack:
        directory = run_place(stack, request, inputs, answers.started)
        blank = blank_run(directory, answers.started, request, inputs, command="run")
        judge = judging.ready(request, inputs, directory)
        finish = Finish(request=request, inputs=inputs, directory=directory, blank=blank, judge=judge)
        return directory, *finish.done(answers, answers.seconds, stopped=None, log=answers.log)


def changed_vault(notes: Vault) -> str | None:
    """Say that the notes on disk are not those any more by which the questions are scored."""
    changed = vault.changed_since(notes)
    return f"the vault changed while it was measured: {wording.some(changed)}" if changed else None


def calibrate(request: Request, runs: int, *, boot_each: bool) -> tuple[RunResult, Calibration]:
    """Ask everything several times; leave a run directory, which can be promoted, and with it the noise.

    Args:
        runs: how often, at least twice.

    Raises:
        RunFailed: as `measure.measure`. A run that broke off is given back; `run.stopped` says why.
    """
    with load_inputs(request) as inputs:
        boots = runs if boot_each else 1
        asking = replace(inputs, config=inputs.config.asking(repeat=runs))
        directory, run, scorecard = measure(request, asking, boots=boots, command="calibrate")
        measured = Calibration(run=run, scorecard=scorecard, boots=boots, pairs=0, alarms={})
        if run.stopped is None:
            with failure_reports(directory, asking.config), dates.after_asking(runs * len(run.results)):
                measured = _judged(measured, asking)
        return RunResult(run=run, directory=directory), measured


def _judged(measured: Calibration, inputs: Inputs) -> Calibration:
    """Add what the gate makes of the runs."""
    run, settings = measured.run, inputs.config
    alarms, pairs = calibration.alarms_by_policy(calibration.separate(run), settings.gate)
    return replace(measured, pairs=pairs, alarms=alarms)
