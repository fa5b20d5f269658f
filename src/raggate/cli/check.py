"""The commands that ask an API and judge what came back: check, diff, run, merge, calibrate, compare."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click
from msgspec.structs import asdict

from raggate.base.errors import ExitCode, RaggateError, UsageError
from raggate.base.escape import log_line
from raggate.cli import options
from raggate.cli.options import ASKED, JUDGED, PATH, RUN, request_of
from raggate.frontends import console, output
from raggate.models.answer import Answer
from raggate.service import signals

if TYPE_CHECKING:
    from raggate.frontends.answers import (
        Calibrated,
        Compared,
        Measured,
        Merged,
        ShardAsked,
        SuiteChecked,
        SuitesChecked,
    )
    from raggate.inputs.suite_list import SuiteFile
    from raggate.models.public_verdict import Verdict
    from raggate.models.suites import SuiteOutcome
    from raggate.models.verdict import Review
    from raggate.pipeline.request import Request


@click.command(cls=options.Command)
@options.CONFIGS
@options.API
@options.CHOICE
@options.RESUME
@options.option(
    ASKED, "--watch", is_flag=True, help="Check again whenever API, questions, settings or notes change. Ctrl-C ends."
)
@options.option(ASKED, "--run", "stored", type=RUN, help="Ask nothing: judge this stored run.")
@options.AGAINST
@options.BASELINE
@options.option(
    JUDGED, "--base-image", metavar="IMAGE", help="Confirm a regression with this image, built before the change."
)
@options.OUT
@options.FULL_TEXT
@options.REPORTS
def check(
    *, config_files: tuple[str, ...], watch: bool, stored: Path | None, reports: tuple[str, ...], **flags: Any
) -> Answer[Verdict] | Answer[SuitesChecked]:
    """Ask the API, compare with the baseline, and give the verdict.

    With -k, --case, --slice, --failed or --limit only some questions are asked. Such a run never passes (exit 5) and
    cannot be promoted.

    Several configurations (-c 'services/*/raggate.yml') are checked one after another, and the exit code is that of
    the worst: 130, 70, 2, 3, 4, 1, 0.
    """
    from raggate.inputs import suite_list
    from raggate.pipeline import report_files

    request = request_of(Path(config_files[0]), **flags)
    modes = {"--resume": request.resume is not None, "--watch": watch, "--run": stored is not None}
    if sum(modes.values()) > 1:
        raise UsageError("--resume, --watch and --run cannot be combined: use one of them")
    if suite_list.several(config_files):
        return _check_suites(request, config_files, reports, modes)
    files = report_files.parsed(reports, "--report")

    def check_once(asked: Request) -> Answer[Verdict]:
        result = report_files.check(asked, files, stored)
        console.show_review(result.review, result.directory, asked.environment, promoting=asked.promoting)
        return _verdict(result.review, result.directory)

    if watch:
        _watch(request, check_once)
    return check_once(request)


def _watch(request: Request, check_once: Callable[[Request], object]) -> NoReturn:
    """Check again after every change. An error of one check is shown, and the next change may mend it.

    With `--failed` every check asks the questions that were broken when the watch began.
    """
    from raggate.pipeline import check as pipeline, watching

    if output.as_json():
        raise UsageError("--watch and --json cannot be combined: --json prints one document")
    fixed = pipeline.with_failed_fixed(request) if request.choice.failed else request

    def check_again() -> None:
        try:
            check_once(fixed)
        except RaggateError as error:
            if error.exit_code == ExitCode.INTERRUPTED:
                raise
            console.say_error(error)
        signals.go_on()

    watching.watch(request, check_again)


def _check_suites(
    request: Request, names: Sequence[str], reports: Sequence[str], modes: dict[str, bool]
) -> Answer[SuitesChecked]:
    from raggate.frontends.answers import SuitesChecked
    from raggate.models.golden import EVERYTHING
    from raggate.models.suites import worst
    from raggate.pipeline import suites
    from raggate.reports.suites import overall, render_text

    chosen = request.choice != EVERYTHING
    given = {**modes, "--baseline": request.baseline_file, "choosing questions (-k, --case, --slice and so on)": chosen}
    suites.refuse_single(given, "several configurations")
    listed = suites.listed(request, names)
    files = suites.reports_of(reports, listed, "--report")

    def check_one(suite: SuiteFile) -> SuiteOutcome:
        own = suites.request_of(request, suite)

        def work() -> SuiteOutcome:
            return suites.unconcerned(own, suite) or console.check_suite(own, suite, files[suite.suite])

        return console.of_suite(suite, work, own.environment)

    outcomes = suites.check_each(listed, check_one, console.say)
    click.echo(f"\n{render_text(outcomes)}")
    checked = SuitesChecked(verdict=overall(outcomes), suites=tuple(map(_suite_checked, outcomes)))
    return Answer(checked, worst(outcome.code for outcome in outcomes))


def _suite_checked(outcome: SuiteOutcome) -> SuiteChecked:
    from raggate.frontends.answers import SuiteChecked
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


@click.command(cls=options.Command)
@click.argument("base")
@click.argument("head", default=".")
@options.config()
@options.CHOICE
@options.OUT
@click.pass_obj
def diff(environment: dict[str, str], /, base: str, head: str, **flags: Any) -> Answer[Compared]:
    """Ask two builds the same questions, and compare them.

    Each is a git revision, an image, an address, a run directory (a path, `latest`, or the beginning of a name), or `.`
    for the working tree, which HEAD is by default. Questions, notes, settings and gate are those of the working tree.
    The exit code is that of `check` with BASE in place of the baseline. It is no gate: a change can edit its own
    questions; `check --against` is one.
    """
    from raggate.frontends.answers import Compared
    from raggate.pipeline import side_by_side
    from raggate.reports import diff as report

    both = side_by_side.diff(request_of(**flags), base, head)
    click.echo(report.render_terminal(both, width=max(console.width(), 60)))
    folder = both.head.directory / side_by_side.FOLDER
    console.show_review(both.review, both.head.directory, environment, reports=folder)
    return Answer(Compared(run_directory=folder, **asdict(report.document(both))), int(both.review.verdict.exit_code))


@click.command(cls=options.Command)
@options.config()
@options.API
@options.CHOICE
@options.RESUME
@options.option(ASKED, "--shard", metavar="I/N", help="Ask only this part of the questions, such as 3/8.")
@options.option(
    ASKED, "--shards", type=click.IntRange(1, 10_000), metavar="N", help="Ask one part of N, by the environment."
)
@options.AGAINST
@options.OUT
@options.FULL_TEXT
def run(*, shard: str | None, shards: int | None, **flags: Any) -> Answer[Measured] | Answer[ShardAsked]:
    """Ask the questions and write a scored run, without a verdict.

    With --shard it asks a part of the questions, and leaves a directory for `raggate merge`.
    """
    from raggate.pipeline import check as pipeline

    request = request_of(**flags)
    if shard is not None or shards is not None:
        return _run_shard(request, shard, shards)
    return console.show_run(pipeline.run(request))


def _run_shard(request: Request, written: str | None, of: int | None) -> Answer[ShardAsked]:
    """Ask the questions of one shard, which is written or named by the environment, and print where its answers are."""
    from raggate.frontends.answers import ShardAsked
    from raggate.pipeline import shards

    if written is None:
        shard = shards.shard_of(of or 1, request.environment)
    else:
        shard = shards.written_shard(written, "--shard")
    if of not in {None, shard.of}:
        raise UsageError(f"--shard says {shard.of} shards, but --shards says {of}. Remove one", hint="Remove --shards.")
    asked = shards.run(request, shard)
    click.echo(log_line(str(console.short_path(asked.directory))))
    asked.refuse_stopped()
    return Answer(
        ShardAsked(
            shard_directory=asked.directory,
            shard=shard.number,
            of=shard.of,
            answered=asked.answered,
            failed=asked.failed,
        )
    )


@click.command(cls=options.Command)
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=PATH)
@options.config()
@options.API
@options.AGAINST
@options.OUT
@options.FULL_TEXT
def merge(directories: tuple[Path, ...], **flags: Any) -> Answer[Merged]:
    """Merge the directories of all shards into one run.

    The run is the one that one process would have written. Give the same flags as to `run --shard`.
    If a shard is missing, doubled, half, or asked by other means, it is named and nothing is merged.
    """
    from raggate.frontends.answers import Merged
    from raggate.pipeline import shards

    merged = shards.merge(request_of(**flags), directories)
    shown = console.show_run(merged.result).result
    return Answer(Merged(**asdict(shown), shards=merged.shards, left_out=merged.left_out))


@click.command(cls=options.Command)
@options.config()
@options.API
@options.option(
    ASKED, "--runs", type=click.IntRange(2, 20), default=5, show_default=True, help="So often ask all questions."
)
@options.option(ASKED, "--boot-each", is_flag=True, help="Start the API again for each run.")
@options.AGAINST
@options.OUT
@options.FULL_TEXT
def calibrate(*, runs: int, boot_each: bool, **flags: Any) -> Answer[Calibrated]:
    """Measure the noise of the API: ask all questions several times.

    Writes a run directory without a verdict. Promoting it stores the noise with the baseline, whose values are then
    means over all runs. Each run costs as many calls as `raggate run`.
    """
    from raggate.frontends.answers import Calibrated
    from raggate.pipeline import measure as pipeline
    from raggate.reports import calibration

    request = request_of(**flags)
    result, measured = pipeline.calibrate(request, runs, boot_each=boot_each)
    if result.run.stopped is None:
        click.echo(calibration.render(measured))
        promoting = request.promoting(str(console.short_path(result.directory)))
        click.echo(log_line(f"to make it the baseline, including its noise: {promoting}"))
    shown = console.show_run(result).result
    return Answer(Calibrated(**asdict(shown), noise=cast("Any", measured.scorecard.fingerprint.get("noise"))))


@click.command(cls=options.Command)
@click.argument("directory", metavar="RUN", type=RUN)
@options.option(
    JUDGED, "--baseline", "baseline_file", type=RUN, help="Compare with this file or run, not the run's own baseline."
)
@options.option(
    JUDGED, "--config", "-c", "policy_file", type=PATH, is_eager=True, help="Use gate and invariants of this file."
)
@options.option(
    JUDGED, "--golden", "golden_file", type=PATH, help="Use the labels of this golden set, instead of the run's."
)
@options.REPORTS
@click.pass_obj
def compare(
    environment: dict[str, str],
    /,
    directory: Path,
    baseline_file: Path | None,
    policy_file: Path | None,
    golden_file: Path | None,
    reports: tuple[str, ...],
) -> Answer[Verdict]:
    """Score and compare a stored run again, and give the verdict.

    It is compared with the baseline that it keeps; a run of `run` or `calibrate` keeps none, so name one with
    --baseline. The reports are written to its folder `compared`; its own verdict stays as it is.
    """
    from raggate.pipeline import report_files, rerun

    files = report_files.parsed(reports, "--report")
    report_files.prepare(files)
    place, review = rerun.compare_directory(directory, baseline_file, policy_file, golden_file)
    report_files.write(files, review, report_files.stored_prefix(review, place))

    def promoting(run: str) -> str:
        command = f"raggate promote {shlex.quote(run)}"
        return command if policy_file is None else f"{command} --config {shlex.quote(str(policy_file))}"

    console.show_review(review, directory, environment, reports=place, promoting=promoting)
    return _verdict(review, place)


def _verdict(review: Review, directory: Path) -> Answer[Verdict]:
    from raggate.reports.verdict_file import verdict_of

    return Answer(verdict_of(review, directory), int(review.verdict.exit_code))
