"""The command `raggate label`: passages that nobody judged, on a page of this machine, into the golden set."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.base.errors import UsageError
from raggate.base.numbers import counted
from raggate.cli import options
from raggate.cli.options import RUN
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import Labelled
    from raggate.labelling.session import Session


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=RUN)
@options.config()
@click.option("--as", "annotator", metavar="NAME", help="Your name as a judge. Default: git's user.name.")
@click.option("--again", is_flag=True, help="Also show judged passages, to see how far people agree.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page. Default: any free one.")
@click.pass_obj
def label(
    environment: dict[str, str],
    /,
    runs: tuple[Path, ...],
    config_file: Path,
    annotator: str | None,
    port: int,
    *,
    again: bool,
) -> Answer[Labelled]:
    """Judge passages that came back and that nobody has judged.

    Shows what the named runs (default: the newest) returned, each passage once, in random order, on a page of this
    machine. Grades go into the golden set when you write them; the next check uses them.
    """
    from raggate.labelling.session import open_session

    console.require("the page to label", "starlette", "uvicorn")
    name = _name(annotator, environment)
    runs = runs or (RUN.convert("latest", None, click.get_current_context()),)
    session = open_session(options.request_of(config_file), runs, again=again)
    with session.journal:
        questions = [*filter(None, session.pool.passages.values())]
        passages = counted(sum(map(len, questions)), "passage")
        console.say(f"{passages} of {counted(len(questions), 'question')} to judge")
        if left := session.pool.unplaced:
            console.say(f"{left} more are under no heading of the notes, so you cannot judge them")
        _serve(session, name, port)
        return _end(session, name)


def _name(given: str | None, environment: Mapping[str, str]) -> str:
    """Return the name that grades are kept under: the one that is given, else git's `user.name`, else the user's."""
    import subprocess

    from pydantic import TypeAdapter, ValidationError

    from raggate.labelling.decisions import LONGEST_NAME, Name

    name = given or ""
    if not name:
        with suppress(OSError):
            done = subprocess.run(["git", "config", "user.name"], capture_output=True, check=False)
            name = done.stdout.decode("utf-8", "replace").strip()
        name = " ".join((name or environment.get("USER", "")).split())[:60]
    if not name:
        raise UsageError("raggate does not know your name", hint="Add --as NAME: your grades are kept under this name.")
    try:
        return TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise UsageError(
            f"--as: {name[:LONGEST_NAME]!r} cannot be used as a name",
            hint=f"Give a name of at most {LONGEST_NAME} characters, without control characters.",
        ) from None


def _serve(session: Session, annotator: str, port: int) -> None:
    from raggate.labelling import label_page, server

    listening = server.listen(port)
    port = listening.getsockname()[1]
    token = server.new_token()
    serving = server.server(server.Guard(label_page.app(session, annotator), token, port))
    console.say("open this address in a browser on this machine. Ctrl-C ends it and keeps every decision")
    # not on standard output, which is for results, and often kept
    click.echo(f"http://{server.LOOPBACK}:{port}/{token}/", err=True)
    try:
        serving.run(sockets=[listening])
    except KeyboardInterrupt:
        # the usual way to end it
        console.say("stopped")


def _end(session: Session, annotator: str) -> Answer[Labelled]:
    from raggate.frontends.answers import Labelled
    from raggate.labelling.label_file import Unit

    files = [file.name for file in session.plan().files]
    if files:
        console.say(f"decided but not written yet: {', '.join(files)}; `raggate label` continues from here")
    waiting = sum(
        annotator not in session.state.of(Unit(case_id, place.where))
        for case_id, own in session.pool.passages.items()
        for place in own
    )
    return Answer(Labelled(golden=session.names["golden"], open=waiting, unwritten=tuple(files)))
