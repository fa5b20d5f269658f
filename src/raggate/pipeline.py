"""The way through the program as code: one short function per command. It composes the stages and decides nothing.

golden set + vault -> boot -> ask -> score -> compare -> decide -> report
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from raggate import (
    __version__,
    baseline,
    boot,
    compare,
    invariants,
    rundir,
    scoring,
    sources,
    suite,
    verdict,
)
from raggate.adapters import ADAPTERS, Adapter
from raggate.backends import surroundings
from raggate.config import Config
from raggate.errors import Interrupted, RaggateError, UsageError
from raggate.inputs import Inputs, opened
from raggate.invocation import Invocation
from raggate.jsonio import write_atomic
from raggate.models import Place, Result, Run
from raggate.outcomes import Baseline, Review, Scorecard
from raggate.reports import FAILURE_REPORTS, METRICS_REPORT, REPORTS

KEPT_BASELINE = "baseline.json"
"""A run directory's copy of the baseline it was held against."""


def check(invocation: Invocation) -> tuple[Path, Review]:
    """Do everything: boot, ask, score, compare, decide, report. Returns the run directory and the review.

    Raises:
        RaggateError: for every way to end without a verdict; a run directory with the reason is then left too,
            unless nothing was started.
    """
    with _opened(invocation) as inputs:
        held_against = _read_baseline(inputs.baseline, inputs.config)
        directory, measured, scorecard = measure(invocation, inputs)
        with _told(directory, inputs.config):
            if inputs.baseline is not None:
                # the run directory tells by itself what it was held against
                write_atomic(directory / KEPT_BASELINE, inputs.baseline[1])
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
    invocation.created(directory)
    results: list[Result] = []
    with _told(directory, settings):
        begin = time.monotonic()
        blank = _blank_run(directory, started, invocation, inputs)
        try:
            stopped, log = _ask(invocation, inputs, directory, results)
        except KeyboardInterrupt:
            asked = f"interrupted after {len(results)} of {len(inputs.golden.cases)} questions"
            _write(
                directory,
                replace(_finished(blank, results, begin, stopped=asked), interrupted=True),
                invocation,
                settings,
            )
            raise Interrupted(asked, hint=f"Partial results are in {directory}.") from None
        finished = _finished(blank, results, begin, stopped=stopped, log=log)
        return directory, finished, _write(directory, finished, invocation, settings)


def judge(
    directory: Path, run: Run, scorecard: Scorecard, held_against: Baseline | None, policy: Config | None = None
) -> Review:
    """Compare a measured run, decide, and write the reports into its directory.

    `policy` is a configuration whose gate and invariants count in place of those of the run.
    """
    settings = policy or config_of(run)
    findings = invariants.check_answers(run, settings.invariants)
    incomparable = invariants.comparable(scorecard, held_against) if held_against else ()
    comparison = compare.compare(run, scorecard, held_against, flip_at=settings.gate.flip_at, incomparable=incomparable)
    review = Review(
        run=run,
        scorecard=scorecard,
        comparison=comparison,
        findings=findings,
        verdict=verdict.decide(comparison, findings, settings.gate, stopped=run.stopped, interrupted=run.interrupted),
        reproduce=str(run.config.get("reproduce")),
        against=run.config.get("against"),
    )
    for name, render in REPORTS.items():
        write_atomic(directory / name, render(review).encode())
    return review


def _opened(invocation: Invocation) -> AbstractContextManager[Inputs]:
    return opened(
        invocation.root,
        invocation.config_name,
        against=invocation.against,
        baseline_file=invocation.baseline_file,
        adjust=invocation.adjust,
        check=_check_names,
    )


def _read_baseline(found: tuple[str, bytes] | None, settings: Config) -> Baseline | None:
    if found is None:
        return None
    return baseline.read(found[1], found[0], scoring.directions(settings.score.k))


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
        say=invocation.say,
        in_container=surroundings.inside(),
    )
    ready = boot.up(
        settings.api,
        place,
        index_state=adapter.index_state,
        expected_documents=len(inputs.vault.texts),
        say=invocation.say,
        max_body_bytes=settings.ask.max_body_bytes,
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
            "ignored": list(inputs.ignored),
            "baseline_name": inputs.baseline[0] if inputs.baseline else None,
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


def _write(directory: Path, run: Run, invocation: Invocation, settings: Config) -> Scorecard:
    rundir.write(directory, run, full_text=invocation.full_text)
    scorecard = scoring.score(run, settings.score.k)
    write_atomic(directory / METRICS_REPORT[0], METRICS_REPORT[1](run, scorecard).encode())
    return scorecard


@contextmanager
def _told(directory: Path, settings: Config) -> Iterator[None]:
    """Leave the reason in the run directory when what is done in it ends without a verdict."""
    try:
        yield
    except KeyboardInterrupt:
        error = Interrupted("interrupted before there was a verdict", hint=f"What was done so far is in {directory}.")
        _write_failure(directory, error, settings)
        raise error from None
    except RaggateError as error:
        _write_failure(directory, error, settings)
        raise


def _write_failure(directory: Path, error: RaggateError, settings: Config) -> None:
    for name, render in FAILURE_REPORTS.items():
        write_atomic(directory / name, render(error, settings.suite, directory.name).encode())


def config_of(run: Run) -> Config:
    """Give the configuration a run was made with, as it was then."""
    known = {key: value for key, value in run.config.items() if key in Config.model_fields}
    try:
        return Config.model_validate(known)
    except ValueError as error:
        raise UsageError(f"the configuration stored with run {run.run_id} cannot be read: {error}") from None
