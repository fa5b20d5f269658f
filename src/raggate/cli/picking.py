"""Passages in a terminal, numbered, and the choice of those that answer a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import click
from msgspec.structs import replace

from raggate.errors import Interrupted, UsageError
from raggate.text.escape import log_line, plain

if TYPE_CHECKING:
    from raggate.inputs.authoring.passages import Passage
    from raggate.models.golden import Support, Vault
    from raggate.models.run import Chunk

SHOWN_TEXT = 200

_NUMBERS = re.compile(r"\d{1,3}(?:[\s,]+\d{1,3})*")
_SNIPPET = "Text that a matching passage must hold; - for none"
_ASK = "Which answer it? Numbers; s WORDS searches the notes; n: no note does; q: quit"


class Row(NamedTuple):
    """One passage to choose: where it stands, its text, and the passage of the vault; None where it is in none."""

    place: str
    text: str
    passage: Passage | None


def matching(words: str, known: Sequence[Passage]) -> list[Row]:
    """Search the notes for words."""
    from raggate.inputs.authoring.passages import WordSearch

    return [_row(passage) for passage in WordSearch(known).find(words)]


def retrieved(chunks: Iterable[Chunk], known: Sequence[Passage], vault: Vault, *, by_heading: bool) -> list[Row]:
    """Look up what an API retrieved; where no headings are read from its answers, the note of a passage is enough."""
    from raggate.inputs.authoring.places import of_chunk, whole_note

    rows = []
    for chunk in chunks:
        prefix = f"{chunk.vault}/" if chunk.vault else ""
        place = f"{prefix}{chunk.rel_path}  {chunk.heading_path}"
        passage = of_chunk(chunk, known, vault) or (None if by_heading else whole_note(chunk, vault))
        rows.append(Row(place, chunk.text, passage))
    return rows


def _row(passage: Passage) -> Row:
    return Row(f"{passage.vault}/{passage.rel_path}  {passage.heading_path or ''}", passage.text, passage)


def show(rows: Sequence[Row]) -> None:
    """Print the passages with their numbers."""
    for number, row in enumerate(rows, 1):
        aside = "" if row.passage else "  (below no heading of the notes: cannot be picked)"
        click.echo(f"{number:3}  {log_line(row.place, limit=300)}{aside}")
        click.echo(f"     {log_line(plain(row.text, limit=SHOWN_TEXT))}")
    if not rows:
        click.echo("no passage")


def supports(rows: Sequence[Row], picks: Iterable[int], vault: Vault) -> tuple[Support, ...]:
    """Give the gold supports of the picked passages, each once.

    Raises:
        UsageError: for a number that no passage has, and a passage that stands in no note.
    """
    chosen: dict[Support, None] = {}
    for number in picks:
        if not 1 <= number <= len(rows):
            raise UsageError(f"--pick: no passage {number}; there are {len(rows)}")
        passage = rows[number - 1].passage
        if passage is None:
            raise UsageError(
                f"--pick: passage {number} is under no heading of the vault: {plain(rows[number - 1].place)}",
                hint="Name the place with --anchor NOTE#HEADING.",
            )
        chosen[passage.support(vault)] = None
    return tuple(chosen)


def choose(rows: Sequence[Row], known: Sequence[Passage], vault: Vault) -> tuple[Support, ...] | None:
    """Let somebody choose, who may search for other passages; None where no note answers the question.

    Raises:
        Interrupted: when they quit.
    """
    while True:
        answer = click.prompt(_ASK, prompt_suffix=": ").strip()
        if answer == "q":
            raise Interrupted("nothing was written")
        if answer == "n":
            return None
        if answer.startswith("s "):
            rows = matching(answer[2:], known)
            show(rows)
        elif _NUMBERS.fullmatch(answer):
            try:
                return supports(rows, map(int, re.findall(r"\d+", answer)), vault)
            except UsageError as error:
                click.echo(log_line(error.message), err=True)


def with_snippet(support: Support, question: str, known: Sequence[Passage], *, choose: bool) -> Support:
    """Give a support the snippet that somebody takes of its passage, or types; without a person, say what it could be.

    Args:
        support: the picked place, which has no snippet.
        question: the question.
        known: the passages of the vault.
        choose: whether somebody sits there.
    """
    from raggate.cli import console
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
    console.say(f"a passage of {support.rel_path} matches by its place; this asks for its text too: {flag}")
    return support
