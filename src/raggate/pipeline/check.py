"""The way through the program as code: one short function per command. It composes the stages and decides nothing.

golden set + vault -> boot -> ask -> score -> compare -> decide -> report
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from raggate.config import schema
from raggate.config.imported import RunConfig
from raggate.config.schema import Config
from raggate.errors import Interrupted, RaggateError, UsageError
from raggate.gate import baseline, compare, flips, invariants, merge_effects, preview, promote, verdict, waivers
from raggate.gate.other_systems import OtherSystem
from raggate.inputs import sources, vault
from raggate.inputs.trusted import ConfigHooks, Inputs, InputSource, load_trusted, load_worktree
from raggate.models.baseline import Baseline
from raggate.models.case_hash import digest
from raggate.models.comparison import Comparison, Finding
from raggate.models.promotion import Proposal
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.models.verdict import Aside, Preview, Review, SourceLine, Verdict
from raggate.pipeline import measure, run_directory
from raggate.pipeline.request import Invocation
from raggate.reports import REPORTS
from raggate.scoring import score
from raggate.service.adapters import ADAPTERS, PROGRAM_ADAPTER
from raggate.text import deadlines
from raggate.text.jsonio import write_atomic

KEPT_BASELINE = "baseline.json"
"""A run directory's copy of the baseline it was held against."""


def check(invocation: Invocation) -> tuple[Path, Review]:
    """Do everything: boot, ask, score, compare, decide, report. Returns the run directory and the review.

    Raises:
        RaggateError: for every way to end without a verdict; a run directory with the reason is then left too,
            unless nothing was started.
    """
    with _opened(invocation) as inputs:
        waivers.check_cases(inputs.config, inputs.golden, invocation.config_name)
        held_against = read_baseline(inputs, invocation.systems)
        known = held_against.scorecard.fingerprint if held_against else {}
        directory, measured, scorecard = measure.measure(invocation, inputs, before=known)
        with measure.told(directory, inputs.config):
            if inputs.baseline is not None:
                # the run directory tells by itself what it was held against
                write_atomic(directory / KEPT_BASELINE, inputs.baseline.data)
            settled = _waivers_settled(invocation, inputs, measured.started)
            review = judge(measured, scorecard, held_against, first_run=inputs.first_run, waivers_settled=settled)
            review = previewed(review, _preview(invocation, inputs, directory, review))
            aside = Aside(
                places=places(review, inputs),
                preview=review.preview,
                first_run=inputs.first_run,
                waivers_settled=settled,
            )
            run_directory.write_aside(directory, aside)
            return directory, tell(directory, review, aside)


def run(invocation: Invocation, limit: int | None = None) -> tuple[Path, Run]:
    """Boot, ask and score; leave a run directory without a verdict.

    Args:
        invocation: what is asked for.
        limit: how many questions are asked, the first of the golden set; None for all.

    Raises:
        RaggateError: as `check`.
    """
    with _opened(invocation) as inputs:
        directory, measured, _ = measure.measure(invocation, _limited(inputs, limit))
        return directory, measured


def _limited(inputs: Inputs, limit: int | None) -> Inputs:
    """Take the first questions of a golden set, which is another one then."""
    if limit is None or limit >= len(inputs.golden.cases):
        return inputs
    cases = inputs.golden.cases[:limit]
    return replace(inputs, golden=replace(inputs.golden, cases=cases, hash=digest(list(cases))))


def judge(
    run: Run,
    scorecard: Scorecard,
    held_against: Baseline | None,
    *,
    policy: RunConfig | None = None,
    first_run: bool = False,
    waivers_settled: bool = False,
) -> Review:
    """Compare a measured run and decide.

    Args:
        run: the run.
        scorecard: its scores.
        held_against: the baseline, None when there is none.
        policy: a configuration whose gate, invariants and waivers count in place of those of the run.
        first_run: whether the trusted commit does not have raggate yet.
        waivers_settled: whether the change itself removes or renews every waiver that has expired.
    """
    with deadlines.after_asking(len(run.results)):
        return _judge(
            run,
            scorecard,
            held_against,
            policy or run.config,
            first_run=first_run,
            waivers_settled=waivers_settled,
        )


def _judge(
    run: Run,
    scorecard: Scorecard,
    held_against: Baseline | None,
    settings: RunConfig,
    *,
    first_run: bool,
    waivers_settled: bool,
) -> Review:
    findings = invariants.check_answers(run, settings.invariants)
    waived = waivers.standing(settings.waivers, run.started)
    comparison = compare.compare(
        run,
        scorecard,
        held_against,
        flip_at=settings.gate.flip_at,
        min_slice=settings.gate.min_slice,
        incomparable=invariants.comparable(scorecard, held_against) if held_against else (),
        waived=waivers.excused(waived, scorecard),
    )
    decided = verdict.decide(
        comparison,
        findings,
        settings.gate,
        stopped=run.stopped,
        interrupted=run.interrupted,
        first_run=first_run,
        started=run.started,
        waived=waived,
        waivers_settled=waivers_settled,
    )
    lowers = promote.needs_permission(run, comparison, settings.gate) if decided.outcome == "pass" else ()
    return replace(_review(run, comparison, findings, decided, first_run=first_run), lowers=lowers)


def _review(
    run: Run, comparison: Comparison, findings: tuple[Finding, ...], decided: Verdict, *, first_run: bool
) -> Review:
    return Review(
        run=run,
        scorecard=comparison.scorecard,
        comparison=comparison,
        findings=findings,
        verdict=decided,
        reproduce=run.provenance.reproduce,
        against=run.provenance.against,
        first_run=first_run,
        waivers=decided.waivers,
        fallen=flips.find_fallen(run, comparison, decided.fell, decided.missed),
    )


def _waivers_settled(invocation: Invocation, inputs: Inputs, started: str) -> bool:
    """Say whether the working tree's own configuration has no waiver left that has expired; it has no other say."""
    if inputs.against is None or inputs.first_run:
        return False
    name = invocation.config_name
    try:
        change = schema.load(sources.WorkTree(invocation.root, confined=True).read(name), name)
    except (UsageError, OSError):
        return False
    return all(one.state != "expired" for one in waivers.standing(change.waivers, started))


def previewed(review: Review, seen: Preview | None) -> Review:
    """Add what the change's own files would mean, and what that makes of the verdict."""
    decided = merge_effects.foreseen(review.verdict, seen, review.comparison)
    lowers = review.lowers if decided.outcome == "pass" else ()
    return replace(review, preview=seen, verdict=decided, lowers=lowers)


def tell(directory: Path, review: Review, aside: Aside) -> Review:
    """Write the reports into the run directory. Returns the review, `previewed` before, with what is told beside it."""
    review = replace(review, places=aside.places, first_run=aside.first_run)
    with deadlines.after_asking(len(review.run.results)):
        for name, render in REPORTS.items():
            write_atomic(directory / name, render(review).encode())
    return review


def propose(
    run: Run, settings: RunConfig, terms: promote.Terms, present: Callable[[], tuple[Baseline | None, str]]
) -> Proposal:
    """Say what the baseline would be if a run became it.

    Args:
        run: the run.
        settings: the configuration whose policy counts.
        terms: why, by whom, and whether lower values are accepted.
        present: reads the baseline there is, once the run is good enough; with why it cannot be read, or nothing.

    Raises:
        CannotTell: for a run that was not measured well enough.
        UsageError: for a run that is worse and not accepted as that.
    """
    scorecard = score.score(run, settings.score.k)
    promote.refuse_unmeasured(run, scorecard, invariants.check_answers(run, settings.invariants), settings.gate)
    held, problem = present()
    return promote.proposal(
        run,
        scorecard,
        held,
        settings.gate,
        terms,
        incomparable=invariants.comparable(scorecard, held) if held else (),
        unreadable=problem,
    )


def _opened(invocation: Invocation) -> AbstractContextManager[Inputs]:
    return load_trusted(_where(invocation), _checks(invocation))


def _where(invocation: Invocation) -> InputSource:
    return InputSource(
        root=invocation.root,
        config_name=invocation.config_name,
        against=invocation.against,
        remote=invocation.remote,
        introducing=invocation.introducing,
        first_run=invocation.first_run,
        baseline_file=invocation.baseline_file,
    )


def _checks(invocation: Invocation) -> ConfigHooks:
    return ConfigHooks(adjust=invocation.adjust, check=check_names)


def places(review: Review, inputs: Inputs) -> dict[str, SourceLine]:
    """Say where in the vault the gold supports of the questions that flipped stand, by case id."""
    cases = {case.id: case for case in inputs.golden.cases}
    with deadlines.after_asking(len(review.run.results)):
        found = {
            flip.case_id: vault.locate(inputs.vault, flip.support, cases[flip.case_id].vaults, inputs.config.vault)
            for flip in (*review.comparison.flips, *review.fallen)
            if flip.support is not None
        }
    return {name: place for name, place in found.items() if place is not None}


def _preview(invocation: Invocation, inputs: Inputs, directory: Path, review: Review) -> Preview | None:
    """Say what the working tree's own files would mean; where questions or notes differ, they are measured too."""
    if inputs.against is None or inputs.first_run:
        return None
    if not inputs.ignored:
        return Preview()
    try:
        change = load_worktree(replace(_where(invocation), baseline_file=None), _checks(invocation))
        found = preview.changes(inputs, change, score.directions(inputs.config.score.k), invocation.systems)
        if review.run.stopped is None and (change.golden.hash, change.vault.hash) != (
            inputs.golden.hash,
            inputs.vault.hash,
        ):
            invocation.say("measuring the change's own questions and notes too, which decides nothing")
            # its settings have no say, not even here
            once = replace(inputs, config=inputs.config.asking_once())
            mixed = replace(once, golden=change.golden, vault=change.vault, baseline=None)
            _, again, scorecard = measure.measure(invocation, mixed, directory)
            problems = (again.stopped,) if again.stopped else ()
            rows = preview.advisory_rows(review.scorecard, scorecard)
            found = replace(found, rows=rows, problems=(*found.problems, *problems))
    except RaggateError as error:
        if isinstance(error, Interrupted):
            raise
        return preview.failed(error)
    return found


def read_baseline(inputs: Inputs, systems: Sequence[OtherSystem]) -> Baseline | None:
    """Read the baseline of the inputs, which may be a metrics file of another system; None when there is none.

    Raises:
        UsageError: when it cannot be read.
    """
    if inputs.baseline is None:
        return None
    stored = inputs.baseline
    found = baseline.read(stored.data, stored.name, score.directions(inputs.config.score.k), systems)
    return replace(found, commit=stored.commit)


def check_names(settings: Config, name: str) -> None:
    """Check what the configuration names of the shelves, which `config` does not know."""
    if (settings.ask.adapter == PROGRAM_ADAPTER) != (settings.api.program is not None):
        raise UsageError(f"{name}: ask.adapter {PROGRAM_ADAPTER!r} and the section api.program go together")
    if settings.ask.adapter not in {*ADAPTERS, PROGRAM_ADAPTER}:
        known = ", ".join((*ADAPTERS, PROGRAM_ADAPTER))
        raise UsageError(f"{name}: ask.adapter: expected one of {known}; found {settings.ask.adapter!r}")
    metrics = score.directions(settings.score.k)
    for metric, rule in settings.gate.metrics.items():
        if metric not in metrics and rule not in (False, "off"):
            raise UsageError(
                f"{name}: gate.metrics: no metric {metric!r} at the cut-offs {settings.score.k}",
                hint=f"Known: {', '.join(metrics)}.",
            )
    waivers.check_names(settings, metrics, name)
