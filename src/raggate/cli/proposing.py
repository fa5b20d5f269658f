"""The command `raggate golden propose`: questions made by rule or by a model, of which a person takes what is good."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from raggate.cli import console
from raggate.errors import UsageError
from raggate.text.escape import log_line, plain
from raggate.text.files import read_file, write_file
from raggate.text.quote import quoted

if TYPE_CHECKING:
    from raggate.inputs.authoring.proposals import Proposal
    from raggate.inputs.authoring.proposals_file import Kept
    from raggate.pipeline.authoring import Workbench
    from raggate.pipeline.request import Request

_CHOICES = ("y", "e", "n", "s", "q")
_ASK = "y: take it, e: ask it in other words, n: never again, s: not now, q: quit"


class Desk:
    """Proposals in their file, and the golden set that they go into: each decision is written at once."""

    def __init__(self, bench: Workbench, path: Path) -> None:
        """Open the file, which may not be there."""
        from raggate.inputs.authoring import proposals_file

        self._bench = bench
        self._path = path
        data = read_file(path, most_bytes=proposals_file.MAX_BYTES) if path.is_file() else b""
        self._kept: list[Kept] = proposals_file.load(data, str(console.short_path(path)))

    def waiting(self) -> list[Proposal]:
        """Return the proposals that nobody has decided on."""
        return [item.proposal for item in self._kept if item.state == "waiting"]

    def refill(self, most: int, asked: Request | None = None) -> None:
        """Propose until so many wait: what the model of a request writes, where there is one, and the rest by rule.

        Raises:
            UsageError: where a model is to be asked that is not configured.
        """
        from raggate.inputs.authoring.proposals import propose
        from raggate.inputs.authoring.proposals_file import Kept
        from raggate.pipeline import authoring

        missing = max(most - len(self.waiting()), 0)
        if asked is not None:
            written = self._written(asked, missing)
            self._kept += map(Kept, written)
            missing -= len(written)
        passed = [item.proposal.case.question for item in self._kept]
        with authoring.in_time(self._bench):
            new = propose(self._bench.golden, self._bench.visible, passed, missing)
        self._kept += map(Kept, new)
        self._write()

    def _written(self, request: Request, most: int) -> list[Proposal]:
        from raggate.pipeline.written_questions import write_questions

        return write_questions(request, self._bench, [item.proposal for item in self._kept], most)

    def accept(self, name: str, question: str | None = None) -> None:
        """Put a proposal into the golden set, in other words where these are given.

        Raises:
            UsageError: when there is none of that id, or a check would refuse it.
        """
        from raggate.inputs.authoring.golden_file import new_id
        from raggate.inputs.authoring.places import cases_beside
        from raggate.pipeline import authoring

        proposal = self._named(name)
        beside = cases_beside(self._bench.golden, proposal.case.gold_supports, self._bench.vault)
        text = question or proposal.case.question
        case_id = new_id(text, [case.id for case in self._bench.golden.cases], beside)
        data, findings = authoring.checked(self._bench, [replace(proposal.case, id=case_id, question=text)])
        for finding in findings:
            console.say(f"{finding.key}: {finding.message} [{finding.check}]")
        self._bench = authoring.save(self._bench, data)
        self._kept = [item for item in self._kept if item.proposal.id != name]
        self._write()
        click.echo(log_line(f"added {case_id} to {console.short_path(self._bench.path)}"))

    def reject(self, name: str) -> None:
        """Let a proposal never come again.

        Raises:
            UsageError: when there is none of that id.
        """
        self._named(name)
        self._kept = [item._replace(state="rejected") if item.proposal.id == name else item for item in self._kept]
        self._write()

    def _named(self, name: str) -> Proposal:
        proposal = next((item for item in self.waiting() if item.id == name), None)
        if proposal is None:
            raise UsageError(f"no proposal {quoted(name)} waits", hint="`raggate golden propose` lists those that do.")
        return proposal

    def _write(self) -> None:
        from raggate.inputs.authoring import proposals_file

        write_file(self._path, proposals_file.write(self._kept))


def run(desk: Desk, most: int, accepted: Sequence[str], rejected: Sequence[str], asked: Request | None = None) -> None:
    """Take and reject what flags name; without any, propose, and ask whoever sits there.

    Args:
        most: how many wait at most.
        asked: the request whose model writes questions, too; None for none.
    """
    for name in accepted:
        desk.accept(name)
    for name in rejected:
        desk.reject(name)
    if accepted or rejected:
        return
    desk.refill(most, asked)
    proposals = desk.waiting()[:most]
    if not proposals:
        click.echo("nothing to propose: no fact or pair of notes is left that makes a good question")
    elif sys.stdin.isatty():
        _review(desk, proposals)
    else:
        for proposal in proposals:
            _show(proposal)
        click.echo("take what is good with --accept ID, drop what is not with --reject ID")


def _review(desk: Desk, proposals: Sequence[Proposal]) -> None:
    for proposal in proposals:
        _show(proposal)
        answer = click.prompt(_ASK, type=click.Choice(_CHOICES), show_choices=False, prompt_suffix=" ")
        if answer == "q":
            return
        try:
            if answer in {"y", "e"}:
                desk.accept(proposal.id, click.prompt("Question") if answer == "e" else None)
        except UsageError as error:
            click.echo(log_line(error.message), err=True)
        if answer == "n":
            desk.reject(proposal.id)


def _show(proposal: Proposal) -> None:
    click.echo(f"{proposal.id}  {log_line(proposal.case.question, limit=500)}")
    for support in proposal.case.gold_supports:
        place = f"{support.rel_path}  {support.heading_path or ''}"
        click.echo(f"          {log_line(place, limit=300)}")
    click.echo(f"          answer ({proposal.source}): {log_line(plain(proposal.answer, limit=200))}")
