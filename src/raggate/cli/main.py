"""click commands: flags -> Invocation -> pipeline -> exit code. The only place that catches, the only os.environ."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from raggate import __version__
from raggate.cli import streams
from raggate.cli.commands import COMMANDS, OTHER_SYSTEMS, Sections
from raggate.cli.hooks import Caller, current
from raggate.errors import ExitCode, RaggateError
from raggate.service import signals
from raggate.text import disk
from raggate.text.escape import log_line

if TYPE_CHECKING:
    from raggate.config.schema import Config
    from raggate.models.verdict import Review
    from raggate.pipeline.request import Invocation

F = TypeVar("F", bound=Callable[..., Any])

CRASH_LOG = Path(".raggate/crash.log")
LOG_WIDTH = 140
"""Columns when the output is not a terminal."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the code of the outcome; see `raggate.errors.ExitCode`."""
    prepare_process()
    sys.exit(run_command(arguments, Caller()))


def prepare_process() -> None:
    """Print whatever text there is, wherever it goes, and take either signal for an interrupt."""
    streams.prepare()
    signals.install()


def run_command(arguments: Sequence[str] | None, caller: Caller) -> int:
    """Run the command line, say what went wrong, and give the exit code; see `raggate.errors.ExitCode`."""
    known = replace(caller, environment=dict(os.environ))
    try:
        result = cli.main(
            args=arguments,
            prog_name="raggate",
            standalone_mode=False,
            obj=known,
        )
    except RaggateError as error:
        say_error(error, caller.fence)
        caller.failed(error)
        return int(error.exit_code)
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        click.echo("raggate: interrupted", err=True)
        return int(ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the one place that turns a bug into an exit code
        refused = disk.unwritable(error) if isinstance(error, OSError) else None
        if refused is None:
            say_crash(error)
            return int(ExitCode.INTERNAL)
        say_error(refused, caller.fence)
        caller.failed(refused)
        return int(refused.exit_code)
    return result if isinstance(result, int) else int(ExitCode.PASS)


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="raggate")
def cli() -> None:
    """A regression gate for RAG services.

    Boots the API, asks it a golden set of questions, compares the retrieval metrics with a baseline and gives a
    verdict as exit code: 0 pass, 1 regression, 2 usage error, 3 cannot tell, 4 invariant broken, 70 internal error,
    130 interrupted.
    """


_API = ("api-image", "api-build", "api-url")


def _options(*names: str) -> Callable[[F], F]:
    known: dict[str, Callable[[F], F]] = {
        "config": click.option(
            "--config", "-c", "config_file", type=click.Path(path_type=Path), default=Path("raggate.yml"),
            show_default=True, help="The configuration file.",
        ),
        "against": click.option(
            "--against", metavar="REF",
            help="Read configuration, golden set, vault and baseline from this git revision, not the working tree.",
        ),
        "baseline": click.option(
            "--baseline", "baseline_file", type=click.Path(path_type=Path),
            help="A baseline file in place of the configured one. --against takes one of the checkout from there.",
        ),
        "out": click.option("--out", type=click.Path(path_type=Path), help="Where run directories go."),
        "full-text": click.option(
            "--store-full-text", "full_text", is_flag=True, help="Keep whole chunk texts in the run directory."
        ),
        "suite": click.option("--suite", help="Refuse a configuration of another suite."),
        "api-image": click.option("--api-image", metavar="IMAGE", help="Gate this container image of the API."),
        "api-build": click.option("--api-build", metavar="DIR", help="Gate the API that this build context makes."),
        "api-url": click.option("--api-url", metavar="URL", help="Gate the API that runs here already."),
    }  # fmt: skip

    def apply(function: F) -> F:
        for name in reversed(names):
            function = known[name](function)
        return function

    return apply


@cli.command()
@_options("config", "suite", *_API, "against", "baseline", "out", "full-text")
def check(**flags: Any) -> int:
    """Do everything: boot, ask, score, compare, decide, report."""
    from raggate.pipeline import check as pipeline

    invocation = _invocation(**flags)
    directory, review = pipeline.check(invocation)
    current().judged(review, directory)
    _show(review, directory)
    return review.verdict.exit_code


@cli.command()
@_options("config", "suite", *_API, "against", "out", "full-text")
@click.option("--limit", type=click.IntRange(1), help="Ask only the first questions, to try things out.")
def run(*, limit: int | None, **flags: Any) -> None:
    """Boot the API and ask the golden set; leave a scored run directory without a verdict."""
    from raggate.errors import CannotTell
    from raggate.pipeline import check as pipeline

    directory, measured = pipeline.run(_invocation(**flags), limit)
    click.echo(_shown(directory))
    if measured.stopped is not None:
        raise CannotTell(measured.stopped, log=measured.log)


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--golden", "golden_file", type=click.Path(path_type=Path), help="Score by this golden set instead.")
def score(directory: Path, golden_file: Path | None) -> None:
    """Score a run directory again and rewrite its metrics.json."""
    from raggate.interop.systems import SYSTEMS
    from raggate.pipeline import rerun
    from raggate.text.jsonio import written

    _, scorecard = rerun.score(directory, golden_file, SYSTEMS)
    for mode, slices in scorecard.slices.items():
        for name, value in slices.get("overall", {}).items():
            click.echo(f"{log_line(mode)}  {name:32} {written(value.value):>7}  n={value.n}  unscored={value.unscored}")


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    "baseline_file",
    type=click.Path(path_type=Path),
    help="A baseline file or another run directory, in place of the baseline the run was held against.",
)
@click.option(
    "--config", "-c", "policy_file", type=click.Path(path_type=Path),
    help="A configuration whose gate and invariants count, in place of those of the run.",
)  # fmt: skip
def compare(directory: Path, baseline_file: Path | None, policy_file: Path | None) -> int:
    """Compare a run directory again and decide. By another baseline or policy it is told in its folder `compared`."""
    from raggate.interop.systems import SYSTEMS
    from raggate.pipeline import rerun

    reports, review = rerun.compare_directory(directory, baseline_file, policy_file, SYSTEMS)
    _show(review, directory, reports=reports)
    return review.verdict.exit_code


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--format", "name", default="summary.md", show_default=True,
    type=click.Choice(["summary.md", "verdict.json", "metrics.json"]), help="Which report.",
)  # fmt: skip
def report(directory: Path, name: str) -> None:
    """Render the reports of a run directory again from its data, and print one."""
    from raggate.interop.systems import SYSTEMS
    from raggate.pipeline import rerun

    click.echo(rerun.report(directory, name, SYSTEMS), nl=False)


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path))
@_options("config", "baseline")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the baseline.")
@click.option("--allow-regression", is_flag=True, help="Accept gated metrics that go down; needs a reason.")
@click.option("--by", default="", metavar="NAME", help="Who promotes; kept in the baseline.")
@click.option("--dry-run", is_flag=True, help="Print the values before and after, and write nothing.")
def promote(directory: Path, *, dry_run: bool, **flags: Any) -> None:
    """Make a run directory the baseline of its suite."""
    from raggate.pipeline import rerun

    terms = {name: flags.pop(name) for name in ("reason", "allow_regression", "by")}
    target, proposal = rerun.promote_directory(_invocation(**flags), directory, dry_run=dry_run, **terms)
    scorecard = proposal.comparison.scorecard
    cases = f"{len({case.case_id for case in scorecard.cases})} cases"
    click.echo(log_line(f"{_shown(target)}: baseline of suite {scorecard.suite}, run {scorecard.run_id}, {cases}"))
    click.echo("\n".join(rerun.promotion_lines(proposal)))
    # git shows no difference of a file that it does not know yet
    review = "the difference with `git diff`" if proposal.comparison.baseline else "the file"
    click.echo("Nothing was written." if dry_run else f"Review {review} and commit it.")


for _command in (*COMMANDS, *OTHER_SYSTEMS):
    cli.add_command(_command)


def _invocation(
    *,
    config_file: Path,
    against: str | None = None,
    baseline_file: Path | None = None,
    out: Path | None = None,
    full_text: bool = False,
    **overrides: str | None,
) -> Invocation:
    from raggate.config.first_run import STRICT
    from raggate.config.overrides import Overrides
    from raggate.interop.systems import SYSTEMS
    from raggate.pipeline.request import Invocation
    from raggate.reports.progress import Progress

    caller = current()

    def adjust(settings: Config) -> Config:
        changed = Overrides(**overrides, contained=caller.contained).apply(settings)
        caller.configured(changed.suite)
        return changed

    flags = {"config": None if str(config_file) == "raggate.yml" else config_file, **overrides}
    flags |= {"against": against, "baseline": baseline_file}
    words = [word for name, value in flags.items() if value for word in (f"--{name.replace('_', '-')}", str(value))]
    return Invocation(
        # a revision knows files by their paths; a link could lead from one to another
        root=Path(os.path.normpath(Path.cwd() / config_file)).parent if against else config_file.resolve().parent,
        config_name=config_file.name,
        environment=caller.environment,
        say=lambda line: click.echo(f"raggate: {log_line(line)}", err=True),
        progress=Progress,
        systems=SYSTEMS,
        against=against,
        out=out,
        baseline_file=baseline_file,
        full_text=full_text,
        reproduce=shlex.join(["raggate", "check", *words]),
        remote=caller.remote,
        introducing=caller.introducing,
        first_run=caller.first_run or STRICT,
        action=caller.action,
        adjust=adjust,
        created=caller.created,
    )


def _show(review: Review, directory: Path, *, reports: Path | None = None) -> None:
    from raggate.pipeline import rerun
    from raggate.reports import terminal

    to_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if to_terminal else LOG_WIDTH
    color = to_terminal and "NO_COLOR" not in current().environment
    # before the report, which ends with the verdict
    _say_log(review.run.log, current().fence, more=" (all of them: api.log in the run directory)")
    click.echo(terminal.render(review, width=max(width, 60), color=color), color=True)
    comparison = review.comparison
    click.echo(f"report:  {_shown((reports or directory) / 'summary.md')}")
    if comparison.baseline is None and not comparison.uncommitted and rerun.promotable(review):
        click.echo(f"first run? review it, then: raggate promote {shlex.quote(str(_shown(directory)))}")


def _shown(path: Path) -> Path:
    """Shorten a path for people: relative to where they are, when it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def say_error(error: RaggateError, fence: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
    """Print an error with its hint and the API's last log lines, all of it harmless for a CI log."""
    for number, line in enumerate(error.lines):
        prefix = f"raggate: {error.label}: " if number == 0 else "  "
        click.echo(prefix + log_line(line, limit=1500), err=True)
    _say_log(error.log, fence)
    if error.hint:
        click.echo(f"  {log_line(error.hint, limit=1000)}", err=True)


def _say_log(lines: Sequence[str], fence: Callable[[], AbstractContextManager[None]], *, more: str = "") -> None:
    """Print what the API logged last to standard error, which is where the fence stands."""
    if lines:
        click.echo(f"  the API's last log lines{more}:", err=True)
        with fence():
            for line in lines:
                click.echo(f"  | {log_line(line, limit=500)}", err=True)


def say_crash(error: BaseException) -> None:
    """Say that raggate itself failed, and keep the details in a file, without secrets."""
    from raggate.text.jsonio import write_atomic
    from raggate.text.redact import of_environment, redact

    secrets = of_environment(os.environ, os.environ)
    details = redact("".join(traceback.format_exception(error)), secrets)
    click.echo(f"raggate: internal error: {type(error).__name__}: {log_line(redact(str(error), secrets))}", err=True)
    try:
        if CRASH_LOG.parent.is_symlink():
            raise NotADirectoryError(f"{CRASH_LOG.parent} is a link")
        write_atomic(CRASH_LOG, details.encode(errors="backslashreplace"))
        click.echo(f"  This is a bug in raggate. Please report it with {CRASH_LOG}.", err=True)
    except OSError:
        for line in details.splitlines():
            click.echo(f"  | {log_line(line)}", err=True)
