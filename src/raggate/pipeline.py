"""The way through the program as code: one short function per command. It composes the stages and decides nothing.

golden set + vault -> boot -> ask -> score -> compare -> decide -> report
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from raggate import (
    __version__,
    baseline,
    boot,
    compare,
    golden,
    invariants,
    promote,
    rundir,
    scoring,
    sources,
    suite,
    verdict,
)
from raggate.adapters import ADAPTERS, Adapter
from raggate.config import Config
from raggate.errors import Interrupted, RaggateError, UsageError
from raggate.inputs import Inputs, opened, read_file
from raggate.jsonio import write_atomic
from raggate.models import Golden, Labelled, Place, Result, Run
from raggate.outcomes import Baseline, Review, Scorecard
from raggate.reports import FAILURE_REPORTS, METRICS_REPORT, REPORTS
from raggate.reports.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What a command line asks for, beside the configuration.

    Attributes:
        root: absolute directory of the configuration file.
        config_name: the file's name in it.
        environment: raggate's own environment, of which a backend hands on what its settings name.
        say: takes progress messages, one harmless line each.
        progress: makes the progress display of the questions.
        against: revision that the trusted inputs are read from; None for the working tree.
        out: where run directories go, in place of the configured one.
        baseline_file: a baseline file on disk, in place of the configured one.
        full_text: keep whole chunk texts on disk.
        reproduce: the command line that does the same, for reports.
    """

    root: Path
    config_name: str
    environment: Mapping[str, str]
    say: Callable[[str], None]
    progress: Callable[[], AbstractContextManager[Progress]]
    against: str | None = None
    out: Path | None = None
    baseline_file: Path | None = None
    full_text: bool = False
    reproduce: str = "raggate check"


def check(invocation: Invocation) -> tuple[Path, Review]:
    """Do everything: boot, ask, score, compare, decide, report. Returns the run directory and the review.

    Raises:
        RaggateError: for every way to end without a verdict; a run directory with the reason is then left too,
            unless nothing was started.
    """
    with _opened(invocation) as inputs:
        held_against = _read_baseline(inputs.baseline, inputs.config)
        directory, measured, scorecard = measure(invocation, inputs)
        return directory, judge(directory, measured, scorecard, held_against)


def run(invocation: Invocation) -> tuple[Path, Run]:
    """Boot, ask and score; leave a run directory without a verdict.

    Raises:
        RaggateError: as `check`.
    """
    with _opened(invocation) as inputs:
        directory, measured, _ = measure(invocation, inputs)
        return directory, measured


def measure(invocation: Invocation, inputs: Inputs) -> tuple[Path, Run, Scorecard]:
    """Boot the API, ask every case, label the answers and write the run directory, also when it goes wrong."""
    settings = inputs.config
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    directory = rundir.create(invocation.out or invocation.root / settings.out, started)
    begin = time.monotonic()
    blank = _blank_run(directory, started, invocation, inputs)
    results: list[Result] = []
    try:
        stopped, log = _ask(invocation, inputs, directory, results)
    except KeyboardInterrupt:
        asked = f"interrupted after {len(results)} of {len(inputs.golden.cases)} questions"
        _write(directory, _finished(blank, results, begin, stopped=asked), invocation, settings)
        error = Interrupted(asked, hint=f"Partial results are in {directory}.")
        _write_failure(directory, error, settings)
        raise error from None
    except RaggateError as error:
        _write_failure(directory, error, settings)
        raise
    finished = _finished(blank, results, begin, stopped=stopped, log=log)
    return directory, finished, _write(directory, finished, invocation, settings)


def judge(directory: Path, run: Run, scorecard: Scorecard, held_against: Baseline | None) -> Review:
    """Compare a measured run, decide, and write the reports into its directory."""
    settings = _config_of(run)
    findings = invariants.check_answers(run, settings.invariants)
    incomparable = invariants.comparable(scorecard, held_against) if held_against else ()
    comparison = compare.compare(run, scorecard, held_against, flip_at=settings.gate.flip_at, incomparable=incomparable)
    review = Review(
        run=run,
        scorecard=scorecard,
        comparison=comparison,
        findings=findings,
        verdict=verdict.decide(comparison, findings, settings.gate, stopped=run.stopped),
        reproduce=str(run.config.get("reproduce")),
        against=run.config.get("against"),
    )
    for name, render in REPORTS.items():
        write_atomic(directory / name, render(review).encode())
    return review


def score(directory: Path, golden_file: Path | None) -> tuple[Run, Scorecard]:
    """Score a run directory again, by another golden set if one is given, and rewrite its metrics.

    Raises:
        UsageError: for a directory or golden set that cannot be read.
    """
    measured = rundir.read(directory)
    if golden_file is not None:
        cases = golden.load(read_file(golden_file), str(golden_file))
        measured = _relabelled(measured, cases)
        rundir.write(directory, measured, full_text=True)
    settings = _config_of(measured)
    scorecard = scoring.score(measured, settings.score.k)
    write_atomic(directory / METRICS_REPORT[0], METRICS_REPORT[1](measured, scorecard).encode())
    return measured, scorecard


def compare_directory(invocation: Invocation, directory: Path) -> Review:
    """Compare a run directory with a baseline file, or with another run directory, and rewrite its reports.

    Raises:
        UsageError: when one of the two cannot be read.
    """
    measured = rundir.read(directory)
    settings = _config_of(measured)
    chosen = invocation.baseline_file or invocation.root / settings.baseline_path
    name = str(invocation.baseline_file or settings.baseline_path)
    held_against = _baseline_on_disk(chosen, name, settings) if chosen.exists() else None
    if held_against is None and invocation.baseline_file is not None:
        raise UsageError(f"{name}: no such file or directory")
    return judge(directory, measured, scoring.score(measured, settings.score.k), held_against)


def promote_directory(invocation: Invocation, directory: Path) -> tuple[Path, Scorecard]:
    """Make a run directory the baseline of its suite. Returns the file written.

    Raises:
        UsageError: for a directory that cannot be read.
        CannotTell: for a run that was not measured well enough to be a baseline.
    """
    measured = rundir.read(directory)
    settings = _config_of(measured)
    scorecard = scoring.score(measured, settings.score.k)
    promote.refuse_unmeasured(
        measured, scorecard, invariants.check_answers(measured, settings.invariants), settings.gate
    )
    target = invocation.baseline_file or invocation.root / settings.baseline_path
    write_atomic(target, baseline.write(scorecard, promote.provenance(measured)))
    return target, scorecard


def _opened(invocation: Invocation) -> AbstractContextManager[Inputs]:
    return opened(
        invocation.root,
        invocation.config_name,
        against=invocation.against,
        baseline_file=invocation.baseline_file,
        check=_check_names,
    )


def _read_baseline(found: tuple[str, bytes] | None, settings: Config) -> Baseline | None:
    if found is None:
        return None
    return baseline.read(found[1], found[0], scoring.directions(settings.score.k))


def _baseline_on_disk(path: Path, name: str, settings: Config) -> Baseline:
    if not path.is_dir():
        return baseline.read(read_file(path), name, scoring.directions(settings.score.k))
    other = rundir.read(path)
    scorecard = scoring.score(other, _config_of(other).score.k)
    return Baseline(source=name, scorecard=scorecard, provenance=promote.provenance(other))


def _check_names(settings: Config, name: str) -> None:
    """Check what the configuration names of the shelves, which config.py does not know."""
    if settings.ask.adapter not in ADAPTERS:
        known = ", ".join(ADAPTERS)
        raise UsageError(f"{name}: ask.adapter: expected one of {known}; found {settings.ask.adapter!r}")
    metrics = scoring.directions(settings.score.k)
    for metric, rule in settings.gate.metrics.items():
        if metric not in metrics and rule not in (False, "off"):
            raise UsageError(
                f"{name}: gate.metrics: no metric {metric!r} at the cut-offs {settings.score.k}",
                hint=f"Known: {', '.join(metrics)}.",
            )


def _ask(
    invocation: Invocation, inputs: Inputs, directory: Path, results: list[Result]
) -> tuple[str | None, tuple[str, ...]]:
    """Boot and ask; every result goes into `results` at once. Returns why it stopped early, and the log then."""
    settings = inputs.config
    idle = sum(case.modes is not None and not set(case.modes) & set(settings.ask.modes) for case in inputs.golden.cases)
    if idle:
        invocation.say(f"{idle} of {len(inputs.golden.cases)} questions are for other modes and are not asked")
    adapter: Adapter = ADAPTERS[settings.ask.adapter](settings.ask, tuple(settings.vault))
    place = Place(
        root=invocation.root,
        out=directory.resolve(),
        vaults=inputs.vault.directories,
        environment=invocation.environment,
    )
    ready = boot.up(
        settings.api,
        place,
        index_state=adapter.index_state,
        expected_documents=len(inputs.vault.texts),
        say=invocation.say,
    )
    with ready as api, invocation.progress() as progress:
        failed = 0

        def keep(result: Result, done: int, total: int) -> None:
            nonlocal failed
            failed += result.failure is not None
            results.append(result)
            progress.advance(done, total, failed)

        outcome = suite.ask_all(inputs.golden.cases, adapter, api, settings.ask, on_result=keep)
        results[:] = outcome.results
        return outcome.stopped, api.log_tail() if outcome.stopped else ()


def _blank_run(directory: Path, started: str, invocation: Invocation, inputs: Inputs) -> Run:
    settings = inputs.config
    return Run(
        run_id=directory.name,
        suite=settings.suite,
        started=started,
        golden=inputs.golden,
        results=(),
        config={
            **settings.model_dump(mode="json", exclude_defaults=False),
            "raggate_version": __version__,
            "checkout": dict(sources.head(invocation.root)),
            "against": inputs.against,
            "reproduce": invocation.reproduce,
        },
        fingerprint={
            "adapter": settings.ask.adapter,
            "k": settings.ask.k,
            "retrieval_only": settings.ask.retrieval_only,
            "modes": list(settings.ask.modes),
            "golden": inputs.golden.hash,
            "vault": inputs.vault.hash,
            "notes": inputs.vault.notes,
        },
    )


def _finished(
    blank: Run, results: list[Result], begin: float, *, stopped: str | None, log: tuple[str, ...] = ()
) -> Run:
    by_id = {case.id: (position, case) for position, case in enumerate(blank.golden.cases)}
    modes = {mode: position for position, mode in enumerate(blank.fingerprint["modes"])}
    ordered = sorted(results, key=lambda result: (modes[result.mode], by_id[result.case_id][0]))
    versions: dict[str, Any] = {}
    for result in ordered:
        for key in ("index_version", "chunker_version"):
            if result.response and result.response.coverage and key in result.response.coverage:
                versions.setdefault(key, result.response.coverage[key])
    return replace(
        blank,
        results=tuple(scoring.label(by_id[result.case_id][1], result) for result in ordered),
        fingerprint={**blank.fingerprint, **versions},
        duration_s=round(time.monotonic() - begin, 3),
        stopped=stopped,
        log=log,
    )


def _relabelled(run: Run, cases: Golden) -> Run:
    """Label a stored run by another golden set. Unchanged cases keep the labels made on the full text."""
    by_id = {case.id: case for case in cases.cases}
    items = []
    for item in run.results:
        case = by_id.get(item.case.id)
        if case is not None and case.question == item.case.question:
            same = case.hash == item.case.hash
            items.append(
                Labelled(case=case, result=item.result, labels=item.labels)
                if same
                else scoring.label(case, item.result, truncated=item.labels.truncated)
            )
    return replace(run, golden=cases, results=tuple(items), fingerprint={**run.fingerprint, "golden": cases.hash})


def _write(directory: Path, run: Run, invocation: Invocation, settings: Config) -> Scorecard:
    rundir.write(directory, run, full_text=invocation.full_text)
    scorecard = scoring.score(run, settings.score.k)
    write_atomic(directory / METRICS_REPORT[0], METRICS_REPORT[1](run, scorecard).encode())
    return scorecard


def _write_failure(directory: Path, error: RaggateError, settings: Config) -> None:
    for name, render in FAILURE_REPORTS.items():
        write_atomic(directory / name, render(error, settings.suite, directory.name).encode())


def _config_of(run: Run) -> Config:
    """Give the configuration a run was made with, as it was then."""
    known = {key: value for key, value in run.config.items() if key in Config.model_fields}
    try:
        return Config.model_validate(known)
    except ValueError as error:
        raise UsageError(f"the configuration stored with run {run.run_id} cannot be read: {error}") from None
