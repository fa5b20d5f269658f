"""The commands `raggate runs ...`: which run directories there are, and which of them may go."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from raggate.base.dates import stamp
from raggate.base.errors import UsageError
from raggate.base.escape import log_line
from raggate.base.numbers import counted, fixed
from raggate.cli import options
from raggate.cli.options import runs_of
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import RunList, RunsPruned, StoredRunRow
    from raggate.pipeline.stored_runs import StoredRun


@click.group(invoke_without_command=True)
@options.config()
@click.pass_context
def runs(context: click.Context, *, config_file: Path) -> Answer[RunList] | None:
    """List the stored runs, the newest first; `runs prune` deletes.

    Wherever a command takes a RUN, `latest` or the beginning of one name stands for it.
    """
    return _show(runs_of(config_file)) if context.invoked_subcommand is None else None


@runs.command()
@options.config()
@click.option("--keep", type=click.IntRange(0), metavar="N", required=True, help="Keep the newest N.")
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, and delete nothing.")
def prune(config_file: Path, *, keep: int, dry_run: bool) -> Answer[RunsPruned]:
    """Delete all run directories but the newest N.

    Only directories that raggate made are deleted: none that git tracks, and none with damaged files. No link is
    followed.
    """
    from raggate.frontends.answers import RunsPruned
    from raggate.inputs import git
    from raggate.pipeline import run_directory, stored_runs

    place = runs_of(config_file)
    run_directory.check_place(config_file.parent, str(place.relative_to(config_file.parent)))
    stored = stored_runs.stored_runs(place)
    # what came with a commit goes with one, and counts for none of the newest
    committed = git.tracked(place, [run.name for run in stored])
    kept = [run for run in stored if run.name not in committed and not run.damaged]
    gone = kept[keep:]
    for run in gone:
        if not dry_run:
            stored_runs.remove(run)
        click.echo(log_line(f"{'would delete' if dry_run else 'deleted'} {run.name} ({_size(run.size)})"))
    total = f"{counted(len(gone), 'run')}, {_size(sum(run.size for run in gone))}"
    verb = "would be deleted" if dry_run else "deleted"
    click.echo(log_line(f"{total} {verb}; {counted(len(kept) - len(gone), 'run')} left in {console.short_path(place)}"))
    names = tuple(run.name for run in gone)
    return Answer(RunsPruned(out=place, deleted=names, left=len(kept) - len(gone), written=not dry_run))


def _show(out: Path) -> Answer[RunList]:
    from raggate.frontends.answers import RunList
    from raggate.inputs import git
    from raggate.pipeline.stored_runs import stored_runs

    stored = stored_runs(out)
    committed, unknown = set[str](), ""
    try:
        committed = git.tracked(out, [run.name for run in stored])
    except UsageError as error:
        unknown = error.message
    if stored:
        table = [("run", "when (UTC)", "suite", "made by", "verdict", "asked", "size"), *map(_cells, stored)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        total = f"{counted(len(stored), 'run')}, {_size(sum(run.size for run in stored))}"
        click.echo(log_line(f"{total} in {console.short_path(out)}"))
        for run in stored:
            if run.damaged:
                place = console.short_path(run.directory)
                click.echo(log_line(f"{place / run.damaged} is damaged. Delete the run: `rm -r {quote(str(place))}`"))
        if committed:
            names = ", ".join(sorted(committed, reverse=True))
            click.echo(log_line(f"tracked by git, so never used as `latest`: {names}"))
        elif unknown:
            click.echo(log_line(f"git cannot tell which of them it tracks: {unknown}"))
    else:
        click.echo(log_line(f"no runs in {console.short_path(out)}"))
    return Answer(
        RunList(out=out, runs=tuple(_row(run, committed=None if unknown else run.name in committed) for run in stored))
    )


def _row(run: StoredRun, *, committed: bool | None) -> StoredRunRow:
    from raggate.frontends.answers import Part, StoredRunRow

    part = None if run.partial is None else Part(asked=run.partial[0], of=run.partial[1])
    return StoredRunRow(
        id=run.name,
        started=stamp(run.started),
        suite=run.suite,
        verdict=run.verdict or None,
        partial=part,
        stopped=run.stopped,
        command=run.command or None,
        build=run.build or None,
        bytes=run.size,
        committed=committed,
    )


def _cells(run: StoredRun) -> tuple[str, ...]:
    asked = "all" if run.measured else "-"
    if run.partial is not None:
        asked = f"{run.partial[0]} of {run.partial[1]}"
    if run.stopped:
        asked = "cut short"
    when = run.started.strftime("%Y-%m-%d %H:%M:%S")
    maker = f"{run.command}: {run.build}" if run.build else run.command
    cells = (log_line(text) or "-" for text in (run.suite, maker, run.verdict))
    return (run.name, when, *cells, asked, _size(run.size))


def _size(number: int) -> str:
    if number < 1000:
        return f"{number} B"
    return f"{fixed(number / 1000, 0)} kB" if number < 1_000_000 else f"{fixed(number / 1_000_000, 1)} MB"
