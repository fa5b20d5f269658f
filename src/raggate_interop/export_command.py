"""The commands `raggate export ...`: a run or notes in, files of other tools out. Imports only what they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.errors import UsageError
from raggate.base.escape import log_line
from raggate.base.files import writing
from raggate.base.numbers import counted
from raggate.cli.options import RUN, choice
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate_interop.results import CorpusExported, ListsExported

_PATH = click.Path(path_type=Path)
_FORCE = click.option("--force", is_flag=True, help="Replace an existing file.")


@click.group()
def export() -> None:
    """Write files for other tools: result lists of a run, or a corpus."""


@export.command("run")
@click.argument("directory", metavar="RUN", type=RUN)
@click.argument("target", type=_PATH)
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
) -> Answer[ListsExported]:
    """Write the result lists of a run for `raggate evaluate` and other tools. Queries are named by the ids of cases."""
    from raggate_interop.export import lists_of, write_lists
    from raggate_interop.results import ListsExported

    _refuse(target, force=force)
    lists = lists_of(directory, unit, mode)
    with writing(target):
        write_lists(lists, target, form)
    failed = sum(doc_ids is None for doc_ids in lists.values())
    empty = sum(doc_ids is not None and not doc_ids for doc_ids in lists.values()) if form == "trec" else 0
    click.echo(log_line(f"wrote {target}: {counted(len(lists) - failed - empty, 'list')}"))
    if failed or empty:
        lacking = f"{counted(failed, 'failed call')} and {counted(empty, 'empty list')}"
        warning = f"{lacking} not in the file: count as misses"
        click.echo(log_line(f"raggate: {warning}"), err=True)
    return Answer(ListsExported(file=target, lists=len(lists) - failed - empty, failed=failed, empty=empty))


@export.command("corpus")
@click.argument("source", type=_PATH)
@click.argument("folder", metavar="BEIR_FOLDER", type=_PATH)
@_FORCE
def export_corpus(source: Path, folder: Path, *, force: bool) -> Answer[CorpusExported]:
    """Write corpus.jsonl of a BEIR folder. SOURCE is a directory of notes, or another BEIR folder.

    Notes are named by their paths. Every line of another folder's corpus is checked.
    """
    from raggate_interop.export import corpus_of, write_corpus
    from raggate_interop.results import CorpusExported
    from raggate_interop.trec_beir.beir import CORPUS

    _refuse(folder / CORPUS, force=force)
    documents = corpus_of(source)
    with writing(folder):
        count = write_corpus(documents, folder)
    click.echo(log_line(f"wrote {folder / CORPUS}: {counted(count, 'document')}"))
    return Answer(CorpusExported(file=folder / CORPUS, documents=count))


def _refuse(target: Path, *, force: bool) -> None:
    if target.exists() and not force:
        raise UsageError(f"{target} exists already", hint="--force replaces it.")
