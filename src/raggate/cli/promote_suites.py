"""Several suites whose runs become their baselines in one command: all of them, or none."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console
from raggate.cli.run_names import out_of
from raggate.errors import ExitCode, UsageError
from raggate.models.answer import Answer
from raggate.service import signals
from raggate.text.numbers import counted
from raggate.text.quote import listed, quoted

if TYPE_CHECKING:
    from raggate.cli.results.stored import SuitesPromoted
    from raggate.inputs.suite_list import SuiteFile
    from raggate.models.promotion import BaselineCandidate
    from raggate.models.suites import SuiteOutcome
    from raggate.pipeline.request import Request


def promote(
    request: Request, names: Sequence[str], runs: Sequence[str], terms: Mapping[str, Any], *, dry_run: bool
) -> Answer[SuitesPromoted]:
    """Make runs the baselines of their suites, once every one of them passes the checks of its own suite.

    Args:
        runs: directories of runs, one of a suite; or `latest` alone, for the newest run of each suite.

    Raises:
        UsageError: for runs that are not one of each of their suites, and as `suite_list.find`.
    """
    from raggate.pipeline import rerun, suites
    from raggate.reports import promoted_suites

    if request.baseline_file is not None:
        raise UsageError("--baseline is for one suite: expected it not beside several configurations")
    chosen = _chosen(names, runs)
    made: dict[str, tuple[Path, BaselineCandidate]] = {}

    def check_one(suite: SuiteFile) -> SuiteOutcome:
        own = suites.request_of(request, suite)

        def propose() -> SuiteOutcome:
            target, proposal = rerun.promote_directory(own, chosen[suite], dry_run=True, **terms)
            others = {name: realpath(other) for name, (other, _) in made.items()}
            suites.check_baseline(suite.suite, realpath(target), others)
            made[suite.suite] = target, proposal
            return suites.passed(suite)

        return console.of_suite(suite, propose, request.environment)

    outcomes = suites.check_each(tuple(chosen), check_one, console.say)
    refused = [outcome for outcome in outcomes if outcome.code != ExitCode.PASS]
    if refused:
        # a workflow is given the names of suites, this command their runs
        runs = [shlex.quote(str(run)) for suite, run in chosen.items() if suite.suite in made]
        console.say(promoted_suites.refusal(refused, runs, between=" "))
    elif not dry_run:
        write_together({target: proposal.data for target, proposal in made.values()})
    return _answer(outcomes, made, written=not refused and not dry_run)


def _chosen(names: Sequence[str], runs: Sequence[str]) -> dict[SuiteFile, Path]:
    from raggate.inputs import suite_list
    from raggate.pipeline import run_directory
    from raggate.pipeline.stored_runs import LATEST

    files = {suite.suite: suite for suite in suite_list.find(names)}
    if list(runs) == [LATEST]:
        return {suite: _newest(suite) for suite in files.values()}
    chosen: dict[SuiteFile, Path] = {}
    for run in runs:
        suite = run_directory.read(Path(run)).suite
        if suite not in files:
            raise UsageError(f"{run}: of suite {quoted(suite)}; expected one of {listed([*files])}")
        if files[suite] in chosen:
            raise UsageError(
                f"{chosen[files[suite]]} and {run} are both of suite {suite}: expected one run of each",
                hint="Name the one that is to be the baseline, or `latest` for the newest run of each suite.",
            )
        chosen[files[suite]] = Path(run)
    return chosen


def _newest(suite: SuiteFile) -> Path:
    from raggate.config import schema
    from raggate.pipeline.stored_runs import LATEST, refuse_committed, stored_runs
    from raggate.text.files import read_file

    out = out_of(Path(suite.config))
    # suites may share a directory, and what `raggate diff` asked of another build says nothing of this one
    own = (run for run in stored_runs(out) if run.measured and not run.build and run.suite == suite.suite)
    newest = next(own, None)
    if newest is None:
        # of a file that is not right neither the suite nor the place of its runs is known
        schema.load(read_file(Path(suite.config)), suite.config)
        command = f"raggate check --config {shlex.quote(suite.config)}"
        raise UsageError(
            f"latest: there is no run of suite {suite.suite} in {out}",
            hint=f"Make one with `{command}`, or name the runs of the suites that are to be promoted.",
        )
    refuse_committed(out, [newest.name], LATEST)
    return newest.directory


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files, all of them or none: each beside its place first, then all renamed in a row.

    No file system renames several files at once: a process that is killed within that row leaves a part of them.

    Raises:
        UsageError: when one cannot be written.
        CannotTell: when there is no space left for it.
    """
    from raggate.text.files import writing
    from raggate.text.jsonio import beside

    ready: dict[Path, Path] = {}
    before: dict[Path, bytes | None] = {}
    with ExitStack() as stack:
        for path, data in files.items():
            with writing(path):
                before[path] = path.read_bytes() if path.is_file() else None
                ready[path] = stack.enter_context(beside(path, data))
        _rename(ready, before)


def _rename(ready: Mapping[Path, Path], before: Mapping[Path, bytes | None]) -> None:
    """Put files in their places; those that were there `before` are put back when one cannot be, or a signal comes."""
    from raggate.text.files import writing

    done: list[Path] = []
    try:
        with signals.deferred():
            for path, file in ready.items():
                with writing(path):
                    file.replace(path)
                done.append(path)
    except BaseException:
        with signals.deferred():
            _put_back((path, before[path]) for path in done)
        raise


def _put_back(files: Iterable[tuple[Path, bytes | None]]) -> None:
    from raggate.text.jsonio import write_atomic

    for path, data in files:
        if data is None:
            path.unlink()
        else:
            write_atomic(path, data)


def _answer(
    outcomes: Sequence[SuiteOutcome], made: Mapping[str, tuple[Path, BaselineCandidate]], *, written: bool
) -> Answer[SuitesPromoted]:
    from raggate.cli.results.stored import Promoted, SuitePromoted, SuitesPromoted
    from raggate.gate.promote import table
    from raggate.models.suites import worst

    rows = []
    for outcome in outcomes:
        result = None
        if outcome.suite in made:
            target, proposal = made[outcome.suite]
            card = proposal.comparison.scorecard
            result = Promoted(
                baseline=target, suite=card.suite, run_id=card.run_id, cases=card.questions, written=written
            )
            click.echo(f"\n{console.short_path(target)}: {console.made_of(proposal)}")
            click.echo("\n".join(table(proposal)))
        rows.append(SuitePromoted(suite=outcome.suite, config=outcome.config, exit_code=outcome.code, result=result))
    review = f"\n{counted(len(rows), 'baseline')} written. Review with `git status` and commit "
    review += "them together." if len(rows) > 1 else "it."
    click.echo(review if written else "\nNothing was written.")
    return Answer(SuitesPromoted(written=written, suites=tuple(rows)), worst(one.code for one in outcomes))
