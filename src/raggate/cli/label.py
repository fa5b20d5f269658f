"""The command `raggate label`: passages that nobody judged, on a page or in the terminal, into the golden set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.cli import console, options
from raggate.cli.options import RUN
from raggate.errors import UsageError
from raggate.models.answer import Answer
from raggate.text.numbers import counted

if TYPE_CHECKING:
    from raggate.cli.answers import Labelled
    from raggate.labelling.session import Session


from typing import TYPE_CHECKING

from raggate.labelling.decisions import GRADES, Decision
from raggate.labelling.label_file import Unit
from raggate.text.escape import log_line, plain

if TYPE_CHECKING:
    from raggate.labelling.pool import Pooled
    from raggate.labelling.session import Session


_ASK = "0-3, m: misleading, s: skip, t: all of the text, p: must pass, n: next question, u: undo, w: write, q: quit"
_CHOICES = ("0", "1", "2", "3", "m", "s", "t", "p", "n", "u", "w", "q")
_TEXT = 1500


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
        console.require("the page to label", "starlette", "uvicorn")
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
            run(session, annotator)
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
    from raggate.web import label_page, server

    listening = server.listen(port)
    port = listening.getsockname()[1]
    token = server.new_token()
    serving = server.server(server.Guard(label_page.app(session, annotator), token, port))
    console.say("open this address in a browser of this machine; Ctrl-C ends it, and nothing that was decided is lost")
    # not on standard output, which is for results, and often kept
    click.echo(f"http://{server.LOOPBACK}:{port}/{token}/", err=True)
    try:
        serving.run(sockets=[listening])
    except KeyboardInterrupt:
        # the usual way to end it
        console.say("stopped")


def _end(session: Session, annotator: str) -> Answer[Labelled]:
    from raggate.cli.answers import Labelled
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


class _Stop(Exception):
    """Somebody quits."""


def run(session: Session, annotator: str) -> None:
    """Show each open passage and take a grade for it, until somebody quits or nothing is open."""
    click.echo("; ".join(f"{grade}: {says}" for grade, says in GRADES.items()))
    try:
        for case_id in [*session.pool.passages]:
            _question(session, annotator, case_id)
        _write(session, annotator)
    except _Stop:
        return


def _question(session: Session, annotator: str, case_id: str) -> None:
    done: list[Unit] = []
    passed: set[Unit] = set()
    titled = False
    whole: Pooled | None = None
    while place := _next(session, annotator, case_id, passed):
        if not titled:
            click.echo(f"\n{log_line(case_id, limit=80)}  {log_line(session.by_id[case_id].question, limit=500)}")
            titled = True
        unit = Unit(case_id, place.where)
        _show(place, _TEXT if whole is not place else len(place.text))
        answer = click.prompt(_ASK, type=click.Choice(_CHOICES), show_choices=False, prompt_suffix=" ")
        if answer == "n":
            return
        if answer == "q":
            raise _Stop
        if answer == "t":
            whole = place
        elif answer == "w":
            _write(session, annotator)
        elif answer == "u" and done:
            last = done.pop()
            passed.discard(last)
            _decide(session, annotator, last)
        elif answer == "p":
            _must_pass(session, annotator, case_id)
        elif answer == "s":
            passed.add(unit)
        elif answer != "u":
            _decide(session, annotator, unit, 0 if answer == "m" else int(answer), misleading=answer == "m")
            done.append(unit)


def _next(session: Session, annotator: str, case_id: str, passed: set[Unit]) -> Pooled | None:
    for place in session.order(case_id, annotator):
        unit = Unit(case_id, place.where)
        if unit not in passed and annotator not in session.state.of(unit):
            return place
    return None


def _show(place: Pooled, most: int) -> None:
    where = place.where
    name = where.rel_path or where.chunk_id or where.doc_id or ""
    title = f"{place.vault}/{name}  {where.heading_path or ''}"
    click.echo(f"\n  {log_line(title, limit=300)}")
    for line in place.text[:most].splitlines():
        # a paragraph is often one line
        click.echo(f"  │ {log_line(plain(line, limit=most), limit=most)}")
    if len(place.text) > most:
        click.echo("  │ … (t: all of it)")


def _decide(
    session: Session, annotator: str, unit: Unit, grade: int | None = None, *, misleading: bool = False
) -> None:
    decision = Decision(
        at="", by=annotator, do="grade", case=unit.case, where=unit.where, grade=grade, misleading=misleading
    )
    session.decide([decision])


def _must_pass(session: Session, annotator: str, case_id: str) -> None:
    now = session.state.keys.get(case_id, {}).get("must_pass", session.by_id[case_id].must_pass)
    session.decide([Decision(at="", by=annotator, do="set", case=case_id, key="must_pass", value=not now)])
    click.echo("must pass" if not now else "need not pass")


def _write(session: Session, annotator: str) -> None:
    plan = session.plan()
    for line in plan.sentences:
        click.echo(f"  {log_line(line, limit=500)}")
    for name, why in plan.edits.refused.items():
        click.echo(f"  cannot be written: {log_line(f'{name}: {why}', limit=500)}")
    if plan.edits.split:
        click.echo(
            f"  people differ on {counted(len(plan.edits.split), 'passage')}: settled on the page, or by grading anew"
        )
    if not plan.files:
        click.echo("nothing to write")
        return
    names = ", ".join(file.name for file in plan.files)
    if click.confirm(log_line(f"write {names}?"), default=True):
        try:
            session.write(plan.digest, annotator)
        except UsageError as error:
            click.echo(log_line(f"{error.message}. {error.hint}"), err=True)
        else:
            click.echo(log_line(f"wrote {names}"))
