"""`raggate convert`: flags -> a golden set in another format, and what it cannot say. Imports only what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.errors import ExitCode
from raggate.base.escape import log_line
from raggate.base.files import writing
from raggate.base.numbers import counted
from raggate.cli.options import choice
from raggate.models.answer import Answer
from raggate_interop.terminal import FILE

if TYPE_CHECKING:
    from raggate_interop.results import Converted

TARGETS = ("raggate", "helloworld", "kebab", "substrate", "substrate-array", "trec", "beir")
SOURCES = (*TARGETS, "pragmata")
SHOWN_NOTES = 50


@click.command()
@click.argument("source", type=FILE)
@click.argument("target", type=FILE)
@click.option("--from", "from_format", type=click.Choice(SOURCES), required=True, help="Format of SOURCE.")
@click.option("--to", "to_format", type=click.Choice(TARGETS), required=True, help="Format of TARGET.")
@click.option("--strict", is_flag=True, help="Write nothing and exit 2 when anything is lost.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--topics", type=FILE, help="The topics of a TREC source.")
@click.option("--topics-out", type=FILE, help="Where the topics of a TREC target go.")
@click.option("--split", default="test", show_default=True, help="Which judgements of a BEIR folder.")
@choice("--unit", "document", "chunk", help="The unit that TREC and BEIR files judge.")
@choice(
    "--unlabelled",
    "refuse-to-guess",
    "refusal",
    "skip",
    help="How to read kebab entries without labels that do not say whether they are answerable.",
)
@click.option("--records", type=FILE, help="Canonical records of pragmata, for the documents of its chunks.")
def convert(source: Path, target: Path, **settings: Any) -> Answer[Converted]:
    """Convert a golden set, and list everything that the target format cannot express.

    SOURCE and TARGET are files; a BEIR folder is a directory, TREC files are qrels with topics beside them, and labels
    of pragmata are a CSV file or a directory of them. docs/migrating.md says what each format holds.
    """
    from raggate_interop.convert import Options, convert as run

    flags = {name: settings.pop(name) for name in ("strict", "force")}
    formats = {name: settings.pop(name) for name in ("from_format", "to_format")}
    with writing(target):
        conversion = run(
            source, target, **formats, options=Options(**settings), strict=flags["strict"], overwrite=flags["force"]
        )
    _say(conversion)
    return Answer(conversion, ExitCode.USAGE if flags["strict"] and conversion.lost else ExitCode.PASS)


def _say(conversion: Converted) -> None:
    for note in conversion.lost[:SHOWN_NOTES]:
        where = ": ".join(part for part in (note.case, note.key) if part)
        click.echo(log_line(f"{note.kind}: {where}: {note.message}" if where else f"{note.kind}: {note.message}"))
    if len(conversion.lost) > SHOWN_NOTES:
        click.echo(f"… and {len(conversion.lost) - SHOWN_NOTES} more; --json lists all")
    few = conversion.files and conversion.written < conversion.cases
    cases = f"{conversion.written} of {counted(conversion.cases, 'case')}" if few else counted(conversion.cases, "case")
    losses = counted(len(conversion.lost), "loss", "losses")
    about = f"{cases}, {losses}, {counted(len(conversion.filled), 'default')} filled in"
    written = ", ".join(str(path) for path in conversion.files)
    click.echo(log_line(f"wrote {written}: {about}" if written else f"nothing written: {about}"))
