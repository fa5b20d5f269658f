"""Judging in a terminal: one passage after the other, by the engine of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from raggate.errors import UsageError
from raggate.labelling.decisions import GRADES, Decision
from raggate.labelling.label_file import Unit
from raggate.text.escape import log_line, plain
from raggate.text.numbers import counted

if TYPE_CHECKING:
    from raggate.labelling.pool import Pooled
    from raggate.labelling.session import Session

_ASK = "0-3, m: misleading, s: skip, t: all of the text, p: must pass, n: next question, u: undo, w: write, q: quit"
_CHOICES = ("0", "1", "2", "3", "m", "s", "t", "p", "n", "u", "w", "q")
_TEXT = 1500


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
