"""The commands `raggate export ...`: a run or notes in, files of other tools out. Imports only what they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.escape import log_line
from raggate.base.files import writing
from raggate.base.numbers import counted
from raggate.cli.options import RUN, choice
from raggate.models.answer import Answer
from raggate_interop.terminal import FILE, refuse_replacing, warn

if TYPE_CHECKING:
    from raggate_interop.results import Written

_FORCE = click.option("--force", is_flag=True, help="Replace an existing file.")


@click.group()
def export() -> None:
    """Write files for other tools: result lists of a run, or a corpus."""


@export.command("run")
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
@click.option("--mode", help="The retrieval mode, when the run has several.")
@_FORCE
def export_run(
    directory: Path, target: Path, *, form: Any, unit: Any, mode: str | None, force: bool
) -> Answer[Written]:
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
        warn(f"{lacking} not in the file: count as misses")
    return Answer(Written(path=target, entries=len(lists) - failed - empty, failed=failed, empty=empty))


@export.command("corpus")
@click.argument("source", type=FILE)
@click.argument("folder", metavar="BEIR_FOLDER", type=FILE)
@_FORCE
def export_corpus(source: Path, folder: Path, *, force: bool) -> Answer[Written]:
    """Write corpus.jsonl of a BEIR folder. SOURCE is a directory of notes, or another BEIR folder.

    Notes are named by their paths. Every line of another folder's corpus is checked.
    """
    from raggate_interop.export import corpus_of, write_corpus
    from raggate_interop.results import Written
    from raggate_interop.trec_beir.beir import CORPUS

    refuse_replacing(folder / CORPUS, force=force)
    documents = corpus_of(source)
    with writing(folder):
        count = write_corpus(documents, folder)
    click.echo(log_line(f"wrote {folder / CORPUS}: {counted(count, 'document')}"))
    return Answer(Written(path=folder / CORPUS, entries=count))
