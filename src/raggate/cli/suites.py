"""Suites of one command: each is checked as if it were alone, and runs of them are promoted all together or not."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console
from raggate.cli.run_names import RUN, out_of
from raggate.errors import ExitCode, UsageError
from raggate.models.answer import Answer
from raggate.service import signals
from raggate.text.escape import log_line
from raggate.text.quote import listed, quoted

if TYPE_CHECKING:
    from raggate.cli.results.measuring import SuiteChecked, SuitesChecked
    from raggate.cli.results.stored import Promoted, SuitesPromoted
    from raggate.inputs.suite_list import SuiteFile
    from raggate.models.promotion import BaselineCandidate
    from raggate.models.suites import SuiteOutcome
    from raggate.pipeline.request import Request


def check(
    request: Request, names: Sequence[str], reports: Sequence[str], *, watch: bool, stored: Path | None
) -> Answer[SuitesChecked]:
    """Check several suites, and give the exit code of the worst.

    Args:
        reports: `FORMAT=FILE` texts, each with `{suite}` in it.
        watch: whether `--watch` was given.
        stored: what `--run` names.

    Raises:
        UsageError: for a flag that is for one suite, and as `suites.listed`.
    """
    from raggate.pipeline import suites
    from raggate.reports.suites import render_text

    suites.refuse_single(_given(request, watch=watch, stored=stored), "several configurations")
    files_of = suites.listed(request, names)
    files = suites.reports_of(reports, files_of, "--report")

    def check_one(suite: SuiteFile) -> SuiteOutcome:
        own = suites.request_of(request, suite)

        def work() -> SuiteOutcome:
            return suites.unconcerned(own, suite) or console.check_suite(own, suite, files[suite.suite])

        return console.of_suite(suite, work, own.environment)

    outcomes = suites.check_each(files_of, check_one, console.say)
    click.echo(f"\n{render_text(outcomes)}")
    return _all_checked(outcomes)


def _given(request: Request, *, watch: bool, stored: Path | None) -> dict[str, object]:
    from raggate.models.golden import EVERYTHING

    return {
        "--baseline": request.baseline_file,
        "--watch": watch,
        "--run": stored,
        "--resume": request.resume,
        "a choice of questions": request.choice != EVERYTHING,
    }


def _all_checked(outcomes: Sequence[SuiteOutcome]) -> Answer[SuitesChecked]:
    from raggate.cli.results.measuring import SuitesChecked
    from raggate.models.suites import worst
    from raggate.reports.suites import overall

    checked = SuitesChecked(verdict=overall(outcomes), suites=tuple(map(_checked, outcomes)))
    return Answer(checked, worst(outcome.code for outcome in outcomes))


def _checked(outcome: SuiteOutcome) -> SuiteChecked:
    from raggate.cli.results.measuring import SuiteChecked
    from raggate.reports.verdict_file import verdict_of

    review, directory = outcome.review, outcome.directory
    return SuiteChecked(
        suite=outcome.suite,
        config=outcome.config,
        verdict=outcome.verdict,
        exit_code=outcome.code,
        headline=outcome.headline,
        run_directory=directory,
        result=None if review is None or directory is None else verdict_of(review, directory),
    )


def promote(
    request: Request, names: Sequence[str], runs: Sequence[str], terms: Mapping[str, Any], *, dry_run: bool
) -> Answer[Promoted] | Answer[SuitesPromoted]:
    """Make runs the baselines of their suites, once every one of them passes the checks of its own suite.

    Args:
        names: configurations; more than one, or a pattern, is a list of suites.
        runs: directories of runs, one of a suite; or `latest` alone, for the newest run of each suite.

    Raises:
        UsageError: for runs that are not one of each of their suites, and as `suite_list.find`.
        RaggateError: for one configuration alone, why its run cannot be promoted.
    """
    from raggate.inputs import suite_list
    from raggate.pipeline import rerun, suites
    from raggate.reports.promotion import refusal

    several = suite_list.several(names)
    if several and request.baseline_file is not None:
        raise UsageError("--baseline is for one suite: expected it not beside several configurations")
    chosen = _runs_of(names, runs) if several else _only(names[0], runs)
    made: dict[str, tuple[Path, BaselineCandidate]] = {}

    def propose(suite: SuiteFile) -> SuiteOutcome:
        own = suites.request_of(request, suite)
        target, proposal = rerun.promote_directory(own, chosen[suite], dry_run=True, **terms)
        others = {name: realpath(other) for name, (other, _) in made.items()}
        suites.check_baseline(suite.suite, realpath(target), others)
        made[suite.suite] = target, proposal
        return suites.passed(suite)

    def check_one(suite: SuiteFile) -> SuiteOutcome:
        if not several:
            return propose(suite)
        return console.of_suite(suite, lambda: propose(suite), request.environment)

    outcomes = suites.check_each(tuple(chosen), check_one, console.say)
    refused = [outcome for outcome in outcomes if outcome.code != ExitCode.PASS]
    written = not refused and not dry_run
    if written:
        write_together({target: proposal.data for target, proposal in made.values()})
    elif refused:
        # a workflow is given the names of suites, this command their runs
        others = [shlex.quote(str(run)) for suite, run in chosen.items() if suite.suite in made]
        console.say(refusal(refused, others, between=" "))
    results = [_promoted(*one, written=written) for one in made.values()]
    click.echo(_what_next([proposal for _, proposal in made.values()]) if written else "Nothing was written.")
    if not several:
        return Answer(results[0])
    return _all_promoted(outcomes, dict(zip(made, results, strict=True)), written=written)


def _only(config: str, runs: Sequence[str]) -> dict[SuiteFile, Path]:
    from raggate.inputs.suite_list import SuiteFile

    if len(runs) > 1:
        hint = "Name the configurations of their suites: -c FILE, repeatable, or a pattern."
        raise UsageError(f"{len(runs)} runs, and one configuration: expected one run", hint=hint)
    run = RUN.convert(runs[0], None, click.get_current_context())
    return {SuiteFile(config=config, suite=config): run}


def _runs_of(names: Sequence[str], runs: Sequence[str]) -> dict[SuiteFile, Path]:
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
    from raggate.text.files import beside, writing

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
    from raggate.text.files import write_atomic

    for path, data in files:
        if data is None:
            path.unlink()
        else:
            write_atomic(path, data)


def _promoted(target: Path, proposal: BaselineCandidate, *, written: bool) -> Promoted:
    """Print what a baseline is made of, and return it."""
    from raggate.cli.results.stored import Promoted
    from raggate.gate.promote import table

    click.echo(
        "\n".join([log_line(f"{console.short_path(target)}: {console.made_of(proposal)}"), *table(proposal), ""])
    )
    card = proposal.comparison.scorecard
    return Promoted(baseline=target, suite=card.suite, run_id=card.run_id, cases=card.questions, written=written)


def _what_next(proposals: Sequence[BaselineCandidate]) -> str:
    if len(proposals) > 1:
        return f"{len(proposals)} baselines written. Review with `git status` and commit them together."
    # git shows no difference of a file that it does not know yet
    review = "the difference with `git diff`" if proposals[0].comparison.baseline else "the file"
    return f"Review {review} and commit it."


def _all_promoted(
    outcomes: Sequence[SuiteOutcome], results: Mapping[str, Promoted], *, written: bool
) -> Answer[SuitesPromoted]:
    from raggate.cli.results.stored import SuitePromoted, SuitesPromoted
    from raggate.models.suites import worst

    rows = tuple(
        SuitePromoted(
            suite=outcome.suite, config=outcome.config, exit_code=outcome.code, result=results.get(outcome.suite)
        )
        for outcome in outcomes
    )
    return Answer(SuitesPromoted(written=written, suites=rows), worst(outcome.code for outcome in outcomes))
