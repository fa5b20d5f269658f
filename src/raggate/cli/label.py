"""The command `raggate label`: passages that nobody judged, on a page or in the terminal, into the golden set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console, installed, options
from raggate.cli.run_names import RUN
from raggate.errors import UsageError
from raggate.models.answer import Answer
from raggate.text.numbers import counted

if TYPE_CHECKING:
    from raggate.cli.results.authoring import Labelled
    from raggate.labelling.session import Session


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=RUN)
@options.config()
@click.option("--as", "annotator", metavar="NAME", help="Who judges. Default: git's user.name.")
@click.option(
    "--depth", type=click.IntRange(1, 1000), help="Pool so many passages of each list. Default: the largest k."
)
@click.option("--no-baseline", is_flag=True, help="Leave out what the baseline returned.")
@click.option("--again", is_flag=True, help="Show passages that are judged already, too: to see how far people agree.")
@click.option(
    "--proposals", type=click.IntRange(0, 500), default=20, show_default=True, help="How many proposals wait at most."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another order of the passages.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page. Default: any free one.")
@click.option("--terminal", is_flag=True, help="Judge in the terminal instead of a page.")
@click.pass_obj
def label(environment: dict[str, str], /, runs: tuple[Path, ...], config_file: Path, **flags: Any) -> Answer[Labelled]:
    """Judge passages that came back and that nobody has judged.

    Pools what the named runs (default: the newest) and the baseline returned, and shows each passage once, in random
    order, on a page of this machine. Grades go into the golden set when you write them; the next check uses them.
    """
    from raggate.config.overrides import Overrides
    from raggate.labelling.session import Sources, open_session
    from raggate.pipeline.request import Request

    if not flags["terminal"]:
        installed.check_extra("label", "the page to label (`--terminal` does without it)")
    overrides = Overrides(contained=False, replayed=False)
    request = Request(config_file=config_file, environment=environment, say=console.say, overrides=overrides)
    sources = Sources(
        runs=runs,
        depth=flags["depth"],
        baseline=not flags["no_baseline"],
        proposals=flags["proposals"],
        seed=flags["seed"],
        again=flags["again"],
    )
    annotator = _checked(flags["annotator"] or _who(environment))
    session = open_session(request, sources, console.say)
    with session.journal:
        _say_pool(session)
        if flags["terminal"]:
            from raggate.cli import labelling

            labelling.run(session, annotator)
        else:
            _serve(session, annotator, flags["port"])
        return _end(session, annotator)


def _who(environment: Mapping[str, str]) -> str:
    import subprocess

    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, check=False)
        own = done.stdout.decode("utf-8", "replace").strip()
    except OSError:
        # no git here
        own = ""
    name = " ".join((own or environment.get("USER", "")).split())
    if not name:
        raise UsageError("--as: who judges is not known", hint="Give a name; grades are kept by it.")
    return name[:60]


def _checked(name: str) -> str:
    from pydantic import TypeAdapter, ValidationError

    from raggate.labelling.decisions import LONGEST_NAME, Name

    try:
        return TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise UsageError(
            f"--as: {name[:LONGEST_NAME]!r} cannot be the name of who judges",
            hint=f"Give a name of at most {LONGEST_NAME} characters, without control characters.",
        ) from None


def _say_pool(session: Session) -> None:
    count = sum(map(len, session.pool.passages.values()))
    questions = sum(bool(own) for own in session.pool.passages.values())
    console.say(f"{counted(count, 'passage')} of {counted(questions, 'question')} to judge")
    if session.pool.unplaced:
        console.say(f"{session.pool.unplaced} more stand under no heading of the notes and cannot be judged")
    if session.unknown:
        more = f"the baseline returned {session.unknown} more, of which no run that is read here has the text"
        console.say(f"{more}: name its own run directory, too")


def _serve(session: Session, annotator: str, port: int) -> None:
    from raggate.web import guard, label_page, server

    listening = server.listen(port)
    port = listening.getsockname()[1]
    token = guard.new_token()
    serving = server.server(guard.Guard(label_page.app(session, annotator), token, port))
    console.say("open this address in a browser of this machine; Ctrl-C ends it, and nothing that was decided is lost")
    # not on standard output, which is for results, and often kept
    click.echo(f"http://{server.LOOPBACK}:{port}/{token}/", err=True)
    try:
        serving.run(sockets=[listening])
    except KeyboardInterrupt:
        # the usual way to end it
        console.say("stopped")


def _end(session: Session, annotator: str) -> Answer[Labelled]:
    from raggate.cli.results.authoring import Labelled
    from raggate.labelling.label_file import Unit

    files = [file.name for file in session.plan().files]
    if files:
        console.say(f"decided and not written yet: {', '.join(files)}; `raggate label` goes on from here")
    waiting = sum(
        annotator not in session.state.of(Unit(case_id, place.where))
        for case_id, own in session.pool.passages.items()
        for place in own
    )
    return Answer(Labelled(golden=session.names["golden"], open=waiting, unwritten=tuple(files)))
