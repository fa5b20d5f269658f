"""The commands `raggate golden ...`: questions added to the golden set, by hand, from a file, or proposed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click
from msgspec.structs import replace

from raggate.base import plugins
from raggate.base.errors import Interrupted, UsageError
from raggate.base.escape import log_line, plain
from raggate.base.files import read_file, write_file
from raggate.base.jsonio import loads
from raggate.base.numbers import counted
from raggate.base.quote import quoted
from raggate.cli import options
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from raggate.frontends.answers import QuestionAdded, QuestionsImported, QuestionsProposed
    from raggate.inputs.authoring.passages import Passage
    from raggate.inputs.authoring.proposals import Kept, Proposal
    from raggate.models.golden import Case, Support, Vault
    from raggate.models.lint import LintFinding
    from raggate.models.run import Chunk
    from raggate.pipeline.authoring import Workbench
    from raggate.pipeline.request import Request

FORMATS = ("csv", "promptfoo", "squad")
"""Of `raggate.inputs.authoring.question_sets`, which is not loaded for the names alone; a test compares them."""
SHOWN = 10
SHOWN_TEXT = 200
_CHOICES = ("y", "e", "n", "s", "q")
_ASK_PROPOSAL = "y: take it, e: ask it in other words, n: never again, s: not now, q: quit"
_NUMBERS = re.compile(r"\d{1,3}(?:[\s,]+\d{1,3})*")
_SNIPPET = "Text that a matching passage must hold; - for none"
_ASK = "Which answer it? Numbers; s WORDS searches the notes; n: no note does; q: quit"


class Desk:
    """Proposals in their file, and the golden set that they go into: each decision is written at once."""

    def __init__(self, bench: Workbench, path: Path) -> None:
        """Open the file, which may not be there."""
        from raggate.inputs.authoring import proposals

        self._bench = bench
        self._path = path
        data = read_file(path, most_bytes=proposals.MAX_BYTES) if path.is_file() else b""
        self._kept: list[Kept] = proposals.load(data, str(console.short_path(path)))

    def waiting(self) -> list[Proposal]:
        """Return the proposals that nobody has decided on."""
        return [item.proposal for item in self._kept if item.state == "waiting"]

    def refill(self, most: int, asked: Request | None = None) -> None:
        """Propose until so many wait: what the model of a request writes, where there is one, and the rest by rule."""
        from raggate.inputs.authoring.proposals import Kept, propose
        from raggate.pipeline import authoring

        missing = max(most - len(self.waiting()), 0)
        if asked is not None:
            from raggate.pipeline.written_questions import write_questions

            written = write_questions(asked, self._bench, [item.proposal for item in self._kept], missing)
            self._kept += map(Kept, written)
            missing -= len(written)
        passed = [item.proposal.case.question for item in self._kept]
        with authoring.in_time(self._bench):
            self._kept += map(Kept, propose(self._bench.golden, self._bench.visible, passed, missing))
        self._write()

    def accept(self, name: str, question: str | None = None) -> None:
        """Put a proposal into the golden set, in other words where these are given."""
        from raggate.inputs.authoring.golden_file import new_id
        from raggate.inputs.authoring.passages import cases_beside
        from raggate.pipeline import authoring

        proposal = self._named(name)
        beside = cases_beside(self._bench.golden, proposal.case.gold_supports, self._bench.vault)
        text = question or proposal.case.question
        case_id = new_id(text, [case.id for case in self._bench.golden.cases], beside)
        data, findings = authoring.checked(self._bench, [replace(proposal.case, id=case_id, question=text)])
        _warn(findings)
        self._bench = authoring.save(self._bench, data)
        self._kept = [item for item in self._kept if item.proposal.id != name]
        self._write()
        click.echo(log_line(f"added {case_id} to {console.short_path(self._bench.path)}"))

    def reject(self, name: str) -> None:
        """Let a proposal never come again."""
        self._named(name)
        self._kept = [item._replace(state="rejected") if item.proposal.id == name else item for item in self._kept]
        self._write()

    def _named(self, name: str) -> Proposal:
        proposal = next((item for item in self.waiting() if item.id == name), None)
        if proposal is None:
            raise UsageError(
                f"there is no waiting proposal {quoted(name)}",
                hint="`raggate golden propose` lists the waiting proposals.",
            )
        return proposal

    def _write(self) -> None:
        from raggate.inputs.authoring import proposals

        write_file(self._path, proposals.write(self._kept))


def _review(desk: Desk, proposals: Sequence[Proposal]) -> None:
    for proposal in proposals:
        _show(proposal)
        answer = click.prompt(_ASK_PROPOSAL, type=click.Choice(_CHOICES), show_choices=False, prompt_suffix=" ")
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


class Row(NamedTuple):
    """One passage to choose: where it stands, its text, and the passage of the vault; None where it is in none."""

    place: str
    text: str
    passage: Passage | None


def _matching(words: str, known: Sequence[Passage]) -> list[Row]:
    from raggate.inputs.authoring.passages import WordSearch

    return [
        Row(f"{passage.vault}/{passage.rel_path}  {passage.heading_path or ''}", passage.text, passage)
        for passage in WordSearch(known).find(words)
    ]


def rows_of(chunks: Iterable[Chunk], known: Sequence[Passage], vault: Vault, *, by_heading: bool) -> list[Row]:
    """Look up what an API retrieved; where no headings are read from its answers, the note of a passage is enough."""
    from raggate.inputs.authoring.passages import of_chunk, whole_note

    rows = []
    for chunk in chunks:
        prefix = f"{chunk.vault}/" if chunk.vault else ""
        place = f"{prefix}{chunk.rel_path}  {chunk.heading_path}"
        passage = of_chunk(chunk, known, vault) or (None if by_heading else whole_note(chunk, vault))
        rows.append(Row(place, chunk.text, passage))
    return rows


def show(rows: Sequence[Row]) -> None:
    """Print the passages with their numbers."""
    for number, row in enumerate(rows, 1):
        aside = "" if row.passage else "  (under no heading of the notes: you cannot pick it)"
        click.echo(f"{number:3}  {log_line(row.place, limit=300)}{aside}")
        click.echo(f"     {log_line(plain(row.text, limit=SHOWN_TEXT))}")
    if not rows:
        click.echo("no passage")


def supports_of(rows: Sequence[Row], picks: Iterable[int], vault: Vault) -> tuple[Support, ...]:
    """Return the gold supports of the picked passages, each once."""
    chosen: dict[Support, None] = {}
    for number in picks:
        if not 1 <= number <= len(rows):
            raise UsageError(f"--pick: there is no passage {number}, only {len(rows)}")
        passage = rows[number - 1].passage
        if passage is None:
            raise UsageError(
                f"--pick: passage {number} is under no heading of the vault: {plain(rows[number - 1].place)}",
                hint="Name the place with --anchor NOTE#HEADING.",
            )
        chosen[passage.support(vault)] = None
    return tuple(chosen)


def _choose_supports(rows: Sequence[Row], known: Sequence[Passage], vault: Vault) -> tuple[Support, ...]:
    """Let somebody choose, who may search for other passages; nothing if no note answers the question."""
    while True:
        answer = click.prompt(_ASK, prompt_suffix=": ").strip()
        if answer == "q":
            raise Interrupted("nothing was written")
        if answer == "n":
            return ()
        if answer.startswith("s "):
            rows = _matching(answer[2:], known)
            show(rows)
        elif _NUMBERS.fullmatch(answer):
            try:
                return supports_of(rows, map(int, re.findall(r"\d+", answer)), vault)
            except UsageError as error:
                click.echo(log_line(error.message), err=True)


def _with_snippet(support: Support, question: str, known: Sequence[Passage], *, choose: bool) -> Support:
    """Add the snippet that somebody takes of the passage, or types; where nobody sits, print the flag with one."""
    from raggate.inputs.authoring.passages import snippet_of

    places = ("rel_path", "heading_path") if support.heading_path else ("rel_path",)
    own = (
        passage.text
        for passage in known
        if support.vault in (None, passage.vault)
        and all(getattr(passage, place) == getattr(support, place) for place in places)
    )
    proposed = snippet_of(question, "\n".join(own))
    if not proposed:
        return support
    if choose:
        answer = click.prompt(_SNIPPET, default=plain(proposed)).strip()
        return support if answer == "-" else replace(support, snippets=(answer,))
    flag = f"--snippet {quote(proposed)}"
    console.say(f"any text at this place of {support.rel_path} counts. To require this text, add {flag}")
    return support


@click.group()
def golden() -> None:
    """Grow the golden set: add, import or review questions."""


@golden.command()
@click.argument("question")
@options.config()
@options.API_URL
@click.option("--search", metavar="WORDS", help="Search the notes for these words instead of asking the API.")
@click.option("--pick", "picks", type=click.IntRange(1), multiple=True, help="Pick the passage with this number.")
@click.option("--anchor", "anchors", metavar="NOTE#HEADING", multiple=True, help="Name this place of the notes.")
@click.option("--unanswerable", is_flag=True, help="No note answers it: the API should abstain.")
@click.option("--all-needed", is_flag=True, help="All chosen passages are needed, not just one.")
@click.option("--snippet", "snippets", metavar="TEXT", multiple=True, help="Text that a matching passage must contain.")
@click.option("--fact", "facts", metavar="TEXT", multiple=True, help="Write down what an answer should say.")
@click.option("--tag", "tags", metavar="NAME", multiple=True, help="Add this tag.")
@click.option("--must-pass", is_flag=True, help="Fail the gate if this question is lost.")
def add(
    question: str,
    config_file: Path,
    *,
    api_url: str | None,
    unanswerable: bool,
    facts: tuple[str, ...],
    tags: tuple[str, ...],
    must_pass: bool,
    **places: Any,
) -> Answer[QuestionAdded]:
    """Add a question and choose the passages that answer it.

    Asks the API and shows its first ten passages to choose from. Without a terminal, choose with --pick, --anchor or
    --unanswerable: run it once without them to see the numbers for --pick.
    """
    from raggate.frontends.answers import QuestionAdded
    from raggate.models.golden import Case
    from raggate.pipeline import authoring

    if not question.strip():
        raise UsageError("expected a question, found no text")
    if unanswerable and any(places[name] for name in ("picks", "anchors", "snippets")):
        raise UsageError("--unanswerable cannot be combined with --pick, --anchor and --snippet")
    request = options.request_of(config_file, api_url=api_url)
    bench = authoring.open_golden(request)
    case = Case(
        id="", question=question, answerable=not unanswerable, expected_key_facts=facts, tags=tags, must_pass=must_pass
    )
    case = _placed(request, bench, case, **places)
    data, findings = authoring.checked(bench, [case])
    _warn(findings)
    authoring.save(bench, data)
    # a service that ranks otherwise each time may have another passage behind a number than the one that was seen
    named = [f"{support.rel_path} {support.heading_path or ''}".strip() for support in case.gold_supports]
    answer = "; ".join(named) or "no note answers it"
    click.echo(log_line(f"added {case.id} to {console.short_path(bench.path)}: {answer}"))
    return Answer(QuestionAdded(golden=bench.path, case=loads(data[len(bench.data) :])))


@golden.command("import")
@click.argument("file", type=options.PATH)
@options.config()
@click.option(
    "--from", "form", type=click.Choice((*FORMATS, *plugins.names(plugins.GOLDEN_FORMATS))), help="Format of FILE."
)
@click.option(
    "--several", type=click.Choice(["any", "all"]), help="Of several contexts, is any one enough, or are all needed?"
)
def import_(
    file: Path, config_file: Path, form: str | None, several: Literal["any", "all"] | None
) -> Answer[QuestionsImported]:
    """Import questions that one place of the notes answers.

    FILE is a table of questions (CSV, JSON), a file of ragas, deepeval, promptfoo, Inspect, rag-ci or SQuAD, or a BEIR
    folder. Nothing is guessed: a question whose answer is nowhere, or in several places, is listed as undecided, with
    candidates for `raggate golden add`. Questions that are already in the golden set are skipped.
    """
    from raggate.frontends.answers import QuestionsImported, Undecided
    from raggate.inputs.authoring import question_sets
    from raggate.inputs.authoring.importing import anchored, lines
    from raggate.inputs.authoring.question_sets import detect
    from raggate.pipeline import authoring

    bench = authoring.open_golden(options.request_of(config_file))
    form = form or detect(file)
    with authoring.in_time(bench):
        imported = anchored(question_sets.read(file, form), bench.golden, bench.visible, several)
        data, findings = authoring.checked(bench, imported.cases)
    _warn(findings)
    rest = bench.path.with_name(f"{bench.path.stem}.undecided.jsonl")
    if imported.cases:
        authoring.save(bench, data)
    # an older list would be taken for this one
    if imported.undecided or rest.exists():
        write_file(rest, lines(imported.undecided))
    counts = f"{len(imported.cases)} added, {imported.known} there already, {len(imported.undecided)} undecided"
    click.echo(log_line(f"read as {form}: {counts}"))
    for item in imported.undecided[:SHOWN]:
        click.echo(log_line(f"undecided: {item.question.place}: {item.reason}", limit=500))
    if imported.undecided:
        click.echo(log_line(f"all of them, with candidates: {console.short_path(rest)}"))
    return Answer(
        QuestionsImported(
            format=form,
            golden=bench.path,
            added=tuple(case.id for case in imported.cases),
            known=imported.known,
            undecided=tuple(Undecided(place=row.question.place, reason=row.reason) for row in imported.undecided),
        )
    )


@golden.command()
@options.config()
@click.option(
    "--limit", "most", type=click.IntRange(1, 500), default=20, show_default=True, help="Propose at most so many."
)
@click.option(
    "--model", "by_model", is_flag=True, help="Also let the first model of `judges` write some: it gets passages."
)
@click.option("--accept", "accepted", metavar="ID", multiple=True, help="Add this proposal to the golden set.")
@click.option("--reject", "rejected", metavar="ID", multiple=True, help="Drop this proposal for good.")
def propose(
    config_file: Path, most: int, accepted: tuple[str, ...], rejected: tuple[str, ...], *, by_model: bool
) -> Answer[QuestionsProposed]:
    """Propose questions about the notes, which a person accepts.

    They are made of tables, lists and definitions. Each has the passage that answers it and quotes no heading. With
    --model, questions by the first model of `judges` come first. Proposals wait in a file until a person accepts them,
    in the terminal or with --accept.
    """
    from raggate.frontends.answers import QuestionsProposed, WaitingProposal
    from raggate.pipeline import authoring

    request = options.request_of(config_file)
    bench = authoring.open_golden(request)
    path = bench.path.with_name(f"{bench.path.stem}.proposals.jsonl")
    desk = Desk(bench, path)
    for name in accepted:
        desk.accept(name)
    for name in rejected:
        desk.reject(name)
    desk.refill(most, request if by_model else None)
    proposals = desk.waiting()[:most]
    if not proposals:
        click.echo("nothing to propose: your notes have no further fact that makes a good question")
    elif sys.stdin.isatty():
        _review(desk, proposals)
    else:
        for proposal in proposals:
            _show(proposal)
        click.echo("keep the good ones with --accept ID, drop the others with --reject ID")
    _say_how_many(bench)
    waiting = tuple(
        WaitingProposal(id=item.id, question=item.case.question, answer=item.answer, source=item.source)
        for item in desk.waiting()
    )
    return Answer(QuestionsProposed(accepted=accepted, rejected=rejected, waiting=waiting, proposals=path))


def _say_how_many(bench: Workbench) -> None:
    """Print how many questions there are and how many it takes."""
    from raggate.gate.suite_checks import suite_outlook
    from raggate.reports.lint import enough_questions

    outlook = suite_outlook(bench.settings, bench.golden, None)
    console.say(f"the golden set has {counted(outlook.questions, 'question')}; {enough_questions(outlook.modes[0])}")


def _placed(
    request: Request,
    bench: Workbench,
    case: Case,
    *,
    search: str | None,
    picks: Sequence[int],
    anchors: Sequence[str],
    snippets: tuple[str, ...],
    all_needed: bool,
) -> Case:
    from raggate.inputs.authoring.golden_file import new_id
    from raggate.inputs.authoring.passages import cases_beside, passages

    supports = _supports(request, bench, case, picks, anchors, search) if case.answerable else ()
    if snippets:
        supports = tuple(replace(support, snippets=snippets) for support in supports)
    elif supports and bench.settings.score.reads_snippets:
        choose, known = not picks and not anchors, passages(bench.vault)
        supports = tuple(_with_snippet(support, case.question, known, choose=choose) for support in supports)
    groups = (tuple(range(len(supports))),) if all_needed and supports else None
    beside = cases_beside(bench.golden, supports, bench.vault)
    return replace(
        case,
        id=new_id(case.question, [case.id for case in bench.golden.cases], beside),
        answerable=bool(supports),
        category="multi_hop" if groups else "factual" if supports else "general",
        gold_supports=supports,
        required_support_groups=groups,
    )


def _supports(
    request: Request, bench: Workbench, case: Case, picks: Sequence[int], anchors: Sequence[str], search: str | None
) -> tuple[Support, ...]:
    """Return the places that answer a question; none if somebody says that no note does."""
    from raggate.inputs.authoring.passages import of_anchor, passages
    from raggate.pipeline import authoring

    named = tuple(of_anchor(anchor, bench.vault) for anchor in anchors)
    if named and not picks:
        return named
    known = passages(bench.vault)
    asked = authoring.ask(request, bench, case) if not search else ()
    whole_notes = "" if bench.settings.ask.reads_headings else "raggate reads no headings from the answers"
    if asked and not any(chunk.heading_path.strip() for chunk in asked):
        whole_notes = whole_notes or "no passage of the answer has a heading_path"
    rows = _matching(search, known) if search else rows_of(asked, known, bench.vault, by_heading=not whole_notes)
    if picks:
        chosen = supports_of(rows, picks, bench.vault)
    else:
        show(rows)
        if not sys.stdin.isatty():
            hint = "--pick N, --anchor NOTE#HEADING or --unanswerable."
            raise UsageError("choose the passages that answer your question", hint=hint)
        chosen = _choose_supports(rows, known, bench.vault)
    if chosen and whole_notes:
        # a heading that no answer has would never match
        chosen = tuple(dict.fromkeys(replace(support, heading_path=None) for support in chosen))
        console.say(f"{whole_notes}, so the whole note is the label")
    return tuple(dict.fromkeys((*named, *chosen)))


def _warn(findings: Sequence[LintFinding]) -> None:
    for finding in findings[:SHOWN]:
        console.say(f"{finding.key}: {finding.message} [{finding.check}]")
    if len(findings) > SHOWN:
        console.say(f"… and {len(findings) - SHOWN} more, which `raggate lint` lists")
