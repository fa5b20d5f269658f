"""`raggate export`: a run in, its result lists for other tools out. Imports only what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.escape import log_line
from raggate.base.files import writing
from raggate.base.numbers import counted
from raggate.cli.options import RUN, choice
from raggate.models.answer import Answer
from raggate_interop.terminal import FILE, MODE, refuse_replacing, warn

if TYPE_CHECKING:
    from raggate_interop.results import Written


@click.command()
@click.argument("directory", metavar="RUN", type=RUN)
@click.argument("target", type=FILE)
@choice("--to", "trec", "lists", name="form", help="A TREC run file, or JSON lines.")
@choice(
    "--unit",
    "document",
    "note",
    "chunk",
    help="The unit to list: documents by id (or path, without one), notes by path, or chunks.",
)
@MODE
@click.option("--force", is_flag=True, help="Replace an existing file.")
def export(directory: Path, target: Path, *, form: Any, unit: Any, mode: str | None, force: bool) -> Answer[Written]:
    """Write the result lists of a run for `raggate evaluate` and other tools. Queries are named by the ids of cases."""
    from raggate_interop.export import lists_of, write_lists
    from raggate_interop.results import Written

    refuse_replacing(target, force=force)
    lists = lists_of(directory, unit, mode)
    with writing(target):
        write_lists(lists, target, form)
    failed = sum(doc_ids is None for doc_ids in lists.values())
    empty = sum(doc_ids is not None and not doc_ids for doc_ids in lists.values()) if form == "trec" else 0
    click.echo(log_line(f"wrote {target}: {counted(len(lists) - failed - empty, 'list')}"))
    if failed or empty:
        lacking = f"{counted(failed, 'failed call')} and {counted(empty, 'empty list')}"
        warn(f"{lacking} not in the file count as misses")
    return Answer(Written(path=target, entries=len(lists) - failed - empty, failed=failed, empty=empty))
