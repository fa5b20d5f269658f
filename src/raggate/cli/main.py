"""click commands: flags -> Request -> pipeline -> what is printed, and an exit code. Reads os.environ."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click
from msgspec.structs import asdict

from raggate import __version__
from raggate.cli import choosing, console, options, output, suites
from raggate.cli.commands import Sections
from raggate.cli.options import API, PATH
from raggate.cli.options_only import OptionsOnly
from raggate.cli.requests import request_of
from raggate.cli.run_names import RUN
from raggate.errors import ExitCode, RaggateError, UsageError
from raggate.models.answer import Answer
from raggate.text.escape import log_line

if TYPE_CHECKING:
    from raggate.cli.results.measured import Calibrated, Measured
    from raggate.cli.results.measuring import ShardAsked, SuitesChecked
    from raggate.cli.results.stored import Promoted, SuitesPromoted
    from raggate.models.public_verdict import Verdict
    from raggate.models.verdict import Review
    from raggate.pipeline.report_files import Files
    from raggate.pipeline.request import Request
from collections.abc import Callable
from typing import TYPE_CHECKING

from raggate.cli import installed
from raggate.service import signals

if TYPE_CHECKING:
    from raggate.pipeline.request import Request
import shlex


def promote_command_line(directory: str, suite: str, policy: Path | None) -> str:
    """Write it for a run directory, with the configuration of its suite.

    Args:
        policy: the configuration that the run was compared by; None for its own.
    """
    from raggate.pipeline.request import USUAL

    command = f"raggate promote {shlex.quote(directory)}"
    usual = _suite_of(Path(USUAL))
    if policy is None and usual in {None, suite}:
        # without a configuration, the run's own is used
        return command
    files = [path for path in sorted(Path().glob("*.y*ml")) if _suite_of(path) == suite]
    file = policy or (files[0] if len(files) == 1 else None)
    if file is None:
        return f"{command} --config FILE, with the configuration of suite {suite}"
    return command if file == Path(USUAL) else f"{command} --config {shlex.quote(str(file))}"


def _suite_of(path: Path) -> str | None:
    from raggate.inputs import suite_list

    return (
        suite_list.name_of_unusable(path.absolute().parent, path.name, against=None, remote=None)
        if path.is_file()
        else None
    )


def watch_changes(request: Request, check: Callable[[Request], int]) -> NoReturn:
    """Check again after every change. An error of one check is told, and the next change may mend it.

    With `--failed` every check asks the questions that were broken when the watch began.

    Raises:
        UsageError: with `--json`, which prints one document, and without the extra `watch`.
        RunFailed: when `--failed` stands for no question.
        KeyboardInterrupt: when somebody interrupts, which is the only end.
    """
    from raggate.pipeline import check as pipeline, watching

    if output.as_json():
        raise UsageError("--watch: there is one report after another, and --json prints one document")
    installed.check_extra("watch", "--watch")

    fixed = pipeline.with_failed_fixed(request) if request.choice.failed else request

    def check_once() -> None:
        try:
            check(fixed)
        except RaggateError as error:
            if error.exit_code == ExitCode.INTERRUPTED:
                raise
            console.say_error(error)
        signals.go_on()

    watching.watch(request, check_once)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the code of the outcome; see `raggate.errors.ExitCode`."""
    console.prepare_process()
    # pydantic would look through every distribution that is installed for plugins, and load them
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None) -> int:
    """Run the command line, say what went wrong, and give the exit code; see `raggate.errors.ExitCode`."""
    environment = dict(os.environ)
    words = sys.argv[1:] if arguments is None else list(arguments)
    misread: list[RaggateError] = []

    def command() -> int:
        try:
            color = output.coloured(environment)
            code = cli.main(args=words, prog_name="raggate", standalone_mode=False, obj=environment, color=color)
        except click.ClickException as error:
            shown = io.StringIO()
            error.show(shown)
            click.echo("\n".join(map(_indented, shown.getvalue().splitlines())), err=True)
            misread.append(UsageError(error.format_message()))
            return int(ExitCode.USAGE)
        except click.Abort:
            raise KeyboardInterrupt from None
        return code if isinstance(code, int) else int(ExitCode.PASS)

    with output.of_command() as spoken:
        code, error = console.guarded(command, environment)
        if output.wanted(spoken, words):
            from raggate.text.jsonio import dumps

            reason = misread[0] if misread else error
            document = dumps(output.document(spoken.command, code, reason), pretty=True)
            code, _ = console.guarded(partial(_print_document, document, code), environment)
    return int(code)


def _print_document(document: bytes, code: int) -> int:
    click.echo(document, nl=False)
    return code


def _indented(line: str) -> str:
    """Make a line of click's harmless; what it goes on with is indented by blanks or a tab."""
    text = line.lstrip(" \t")
    return line.removesuffix(text).expandtabs() + log_line(text)


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="raggate")
def cli() -> None:
    """A regression gate for RAG services.

    Boots the API, asks it a golden set of questions, compares the retrieval metrics with a baseline and gives a
    verdict as exit code: 0 pass, 1 regression, 2 usage error, 3 cannot tell, 4 invariant broken, 5 only a part was
    asked and nothing of it got worse, 70 internal error, 130 interrupted.
    """


@cli.command(cls=OptionsOnly)
@options.gate("configs", *API, "base-image", "against", "baseline", "out", "full-text", "resume")
@choosing.options
@click.option(
    "--watch", is_flag=True, help="Check again whenever API, golden set, configuration or notes change; Ctrl-C ends."
)
@click.option("--run", "stored", type=RUN, help="Judge this run, which was measured before, and ask nothing.")
@options.reports()
def check(
    *, config_files: tuple[str, ...], watch: bool, stored: Path | None, reports: tuple[str, ...], **flags: Any
) -> Answer[Verdict] | Answer[SuitesChecked]:
    """Start the API, ask the questions, compare with the baseline, and give the verdict.

    With -k, --case, --slice, --failed or --limit it asks a part of them, and says of each whether it got worse:
    that is never a pass (exit 5), and cannot be promoted.

    Several configurations (-c 'services/*/raggate.yml') are checked one after another, and the exit code is that of
    the worst: 130, 70, 2, 3, 4, 1, 0.
    """
    from raggate.inputs import suite_list
    from raggate.pipeline import report_files

    request = request_of(choosing.taken(flags), config_file=Path(config_files[0]), **flags)
    if suite_list.several(config_files):
        return suites.check(request, config_files, reports, watch=watch, stored=stored)
    files = report_files.parsed(reports, "--report")
    if request.resume is not None and (watch or stored is not None):
        raise UsageError("--resume goes on with one run: expected neither --watch nor --run beside it")
    if watch and stored is not None:
        raise UsageError("--watch asks anew, and --run asks nothing: expected at most one of them")
    if watch:
        watch_changes(request, partial(_check, files=files))
    return _check(request, files, stored)


def _check(request: Request, files: Files, stored: Path | None = None) -> Answer[Verdict]:
    from raggate.pipeline import report_files

    result = report_files.check(request, files, stored)
    console.show_review(result.review, result.directory, request.environment, promoting=request.promoting)
    return _verdict(result.review, result.directory)


@cli.command(cls=OptionsOnly)
@options.gate("config", *API, "against", "out", "full-text", "resume")
@choosing.options
@click.option("--plan", "plan_file", type=PATH, help="Ask only one shard of this plan.")
@click.option("--shard", metavar="I/N", help="Which shard, from 1. Default: what the environment says.")
def run(*, plan_file: Path | None, shard: str | None, **flags: Any) -> Answer[Measured] | Answer[ShardAsked]:
    """Start the API and ask the questions; write a scored run directory, without a verdict.

    With --plan it asks the questions of one shard, and leaves a directory for `raggate merge`.
    """
    from raggate.pipeline import check as pipeline

    request = request_of(choosing.taken(flags), **flags)
    if plan_file is not None:
        from raggate.cli import shards

        return shards.run_shard(request, plan_file, shard)
    if shard is not None:
        raise UsageError("--shard needs --plan", hint="Make a plan first: `raggate plan --shards N`.")
    return console.show_run(pipeline.run(request))


@cli.command(cls=OptionsOnly)
@options.gate("config", *API, "against", "out", "full-text")
@click.option(
    "--runs", type=click.IntRange(2, 20), default=5, show_default=True, help="How many times to ask all questions."
)
@click.option("--boot-each", is_flag=True, help="Start the API anew for each run.")
def calibrate(*, runs: int, boot_each: bool, **flags: Any) -> Answer[Calibrated]:
    """Measure the noise of the API: ask one build all questions several times.

    Writes a run directory without a verdict. Promoting it stores the noise with the baseline, whose values are then
    means over all runs. Each run costs as many calls as `raggate run`.
    """
    from raggate.cli.results.measured import Calibrated
    from raggate.pipeline import measure as pipeline
    from raggate.reports import calibration

    request = request_of(**flags)
    result, measured = pipeline.calibrate(request, runs, boot_each=boot_each)
    if result.run.stopped is None:
        click.echo(calibration.render(measured))
        promoting = request.promoting(str(console.short_path(result.directory)))
        click.echo(log_line(f"to make it the baseline, with its noise: {promoting}"))
    shown = console.show_run(result).result
    return Answer(Calibrated(**asdict(shown), noise=cast("Any", measured.scorecard.fingerprint.get("noise"))))


@cli.command()
@click.argument("directory", metavar="RUN", type=RUN)
@click.option(
    "--baseline",
    "baseline_file",
    type=RUN,
    help="A baseline file or another run to compare with, instead of the baseline that the run keeps.",
)
@click.option(
    "--config",
    "-c",
    "policy_file",
    type=PATH,
    is_eager=True,
    help="Use the gate and invariants of this configuration, instead of those of the run.",
)
@click.option("--golden", "golden_file", type=PATH, help="Use the labels of this golden set, instead of the run's.")
@options.reports()
def compare(
    directory: Path,
    baseline_file: Path | None,
    policy_file: Path | None,
    golden_file: Path | None,
    reports: tuple[str, ...],
) -> Answer[Verdict]:
    """Score and compare a stored run again and give the verdict.

    It is held against the baseline that it keeps; a run of `run` or `calibrate` keeps none, so name one with
    --baseline. The reports are written to its folder `compared`; its own verdict stays as it is.
    """
    from raggate.pipeline import report_files, rerun

    files = report_files.parsed(reports, "--report")
    report_files.prepare(files)
    place, review = rerun.compare_directory(directory, baseline_file, policy_file, golden_file)
    report_files.write(files, review, report_files.stored_prefix(review, place))
    promoting = partial(promote_command_line, suite=review.run.suite, policy=policy_file)
    console.show_review(review, directory, os.environ, reports=place, promoting=promoting)
    return _verdict(review, place)


@cli.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@options.gate("configs", "baseline")
@click.option("--reason", default="", metavar="TEXT", help="Why the baseline changes; stored in it.")
@click.option(
    "--allow-regression", is_flag=True, help="Accept metrics that get worse, gated or of the composite; needs --reason."
)
@click.option(
    "--allow-no-match",
    multiple=True,
    metavar="NAME",
    help="Accept that no question of this mode, or of this slice, has a match. A mode includes its slices; "
    "what is accepted is listed. Repeatable.",
)
@click.option("--by", default="", metavar="NAME", help="Who promotes; stored in the baseline.")
@click.option("--dry-run", is_flag=True, help="Print the values before and after, and write nothing.")
def promote(
    runs: tuple[str, ...], *, config_files: tuple[str, ...], dry_run: bool, **flags: Any
) -> Answer[Promoted] | Answer[SuitesPromoted]:
    """Make a stored run the baseline of its suite.

    With several configurations (-c 'services/*/raggate.yml') a run of each suite that is promoted, or `latest` for the
    newest of every suite. Each passes the checks of its own suite, or nothing is written at all.
    """
    terms = {name: flags.pop(name) for name in ("reason", "allow_regression", "allow_no_match", "by")}
    request = request_of(config_file=Path(config_files[0]), **flags)
    return suites.promote(request, config_files, runs, terms, dry_run=dry_run)


def _verdict(review: Review, directory: Path) -> Answer[Verdict]:
    from raggate.reports.verdict_file import verdict_of

    return Answer(verdict_of(review, directory), int(review.verdict.exit_code))


output.add_flags(cli)
