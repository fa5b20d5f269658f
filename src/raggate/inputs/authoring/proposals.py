"""Golden set x vault -> questions that a person may take: made of tables, lists, definitions, commands and notes alike.

Each is answerable (its answer stands where it is said to), unique (no other passage has all that it names) and quotes
no heading. They are plain, and a person makes them what somebody would ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby, islice
from typing import Literal, NamedTuple, Self, TypeVar

from msgspec.structs import replace

from raggate.errors import UsageError
from raggate.inputs.anchor_check import SectionsOf, check_anchors, sections_of
from raggate.inputs.authoring.facts import Fact, facts
from raggate.inputs.authoring.passages import Passage, WordSearch, passages
from raggate.inputs.lint.likeness import alike
from raggate.inputs.lint.questions import ALIKE, leaks
from raggate.inputs.note_words import words
from raggate.models.golden import Case, Golden, Support, Vault
from raggate.text.quote import cut

T = TypeVar("T")

Source = Literal["table", "list", "definition", "command", "notes", "model"]

NOTES_ALIKE = 0.6
"""Share of their words that two notes have in common from which on they are easily taken for each other."""

PER_NOTE = 5
"""Questions of one note that are proposed at a time."""

TRIED_PER_NOTE = 40
"""Questions of one note that are held against the others: most of a long table may read like another."""

PER_PAIR = 2
"""Questions of what tells two notes apart: those of one template differ in every section."""

_SHOWN = 200


class Proposal(NamedTuple):
    """A question that a person may take.

    Attributes:
        id: what it is accepted by; the same for the same question.
        source: what it was made of; `model` for what a model wrote.
        answer: what the notes say to it.
        case: the case that it would be, without an id of its own.
    """

    id: str
    source: Source
    answer: str
    case: Case

    @classmethod
    def of(cls, source: Source, answer: str, case: Case) -> Self:
        """Make a proposal, with the id that its question has."""
        return cls(sha256(case.question.encode(errors="replace")).hexdigest()[:8], source, answer, case)


class _Draft(NamedTuple):
    """What can be asked of a passage: ways to ask it, each with what it names, the first that is good counts."""

    source: Source
    passage: Passage
    ways: tuple[tuple[str, str], ...]
    answer: str
    supports: tuple[Support, ...]


def propose(golden: Golden, vault: Vault, passed: Iterable[str], most: int) -> list[Proposal]:
    """Propose questions, those of notes without a question first.

    Args:
        golden: the golden set there is.
        vault: its notes.
        passed: questions that were proposed before.
        most: how many at most.
    """
    known = passages(vault)
    check = CaseCheck(vault)
    search = WordSearch(known)
    asked = Counter(support.rel_path for case in golden.cases for support in case.gold_supports)
    questions = [*(case.question for case in golden.cases), *passed]
    before = frozenset(questions)

    def good(drafts: Iterable[_Draft]) -> Iterator[tuple[Passage, Proposal]]:
        for draft in drafts:
            proposal = _proposal(draft, check, search)
            if proposal is not None and proposal.case.question not in before:
                yield draft.passage, proposal

    fit = [*_of_each_note(known, vault, good), *good(_of_notes(known, vault))]
    turns = in_turns(fit, asked, lambda item: item[0])
    return not_asked([proposal for _, proposal in turns], questions)[:most]


def _of_each_note(
    known: Sequence[Passage], vault: Vault, good: Callable[[Iterable[_Draft]], Iterator[T]]
) -> Iterator[T]:
    """Give the first good questions of each note, from all over it."""
    for _, note in groupby(known, key=lambda item: (item.vault, item.rel_path)):
        drafts = [draft for passage in note for draft in _of_passage(passage, vault)]
        step = max(1, len(drafts) // PER_NOTE)
        spread = sorted(range(len(drafts)), key=lambda place: place % step)
        yield from islice(good(drafts[place] for place in spread[:TRIED_PER_NOTE]), PER_NOTE)


def _of_passage(passage: Passage, vault: Vault) -> Iterator[_Draft]:
    support = passage.support(vault)
    title = passage.path[0] if passage.path else passage.rel_path.rpartition("/")[2].removesuffix(".md")
    for fact in facts(passage.text):
        exact = replace(support, snippets=(fact.answer,))
        yield _Draft(fact.form, passage, tuple(_ways(fact, title)), fact.answer, (exact,))


def _ways(fact: Fact, title: str) -> Iterator[tuple[str, str]]:
    """Ask for a fact without naming its note, and by it."""
    names = f"{fact.subject} {fact.property}"
    if fact.form == "definition":
        verb = "are" if fact.property == "are" else "is"
        yield f"What {verb} {_small(fact.subject)}?", fact.subject
        yield f"In {title}, what {verb} {_small(fact.subject)}?", f"{fact.subject} {title}"
    elif fact.form == "command":
        yield f"Which command do you use to {fact.subject}?", fact.subject
        yield f"In {title}, which command do you use to {fact.subject}?", f"{fact.subject} {title}"
    elif fact.form == "table":
        yield f"For {fact.subject}, what is “{fact.property}”?", names
        yield f"In {title}, what is “{fact.property}” of {fact.subject}?", f"{names} {title}"
    else:
        yield f"What is noted for {_small(fact.subject)}?", names
        yield f"In {title}, what is noted for {_small(fact.subject)}?", f"{names} {title}"


def _of_notes(known: Sequence[Passage], vault: Vault) -> Iterator[_Draft]:
    """Ask what tells two notes apart that are alike, section by section."""
    notes = [[*group] for _, group in groupby(known, key=lambda item: (item.vault, item.rel_path))]
    texts = [words(" ".join(item.text for item in note)) for note in notes]
    for left, right in alike(texts, NOTES_ALIKE):
        yield from islice(_of_pair(notes[left], notes[right], vault), PER_PAIR)


def _of_pair(left: Sequence[Passage], right: Sequence[Passage], vault: Vault) -> Iterator[_Draft]:
    names = _names_apart(left[0], right[0])
    for passage in left if names else ():
        heading = passage.path[-1:] if passage.path[1:] else ()
        other = next((item for item in right if heading and item.path[-1:] == heading), None)
        if other is not None and other.text != passage.text:
            question = f"How do {' and '.join(names)} differ in {_small(passage.path[-1])}?"
            answer = f"{cut(passage.text, limit=_SHOWN)} / {cut(other.text, limit=_SHOWN)}"
            yield _Draft("notes", passage, ((question, ""),), answer, (passage.support(vault), other.support(vault)))


def _names_apart(*pair: Passage) -> tuple[str, ...]:
    """Name two notes by their files, or by their titles where both are a README; none where these are the same too."""
    files = tuple(item.rel_path.rpartition("/")[2].removesuffix(".md") for item in pair)
    titles = tuple(" ".join(item.path[:1]) for item in pair)
    return next((names for names in (files, titles) if all(names) and len({*map(str.casefold, names)}) > 1), ())


def _small(name: str) -> str:
    """Begin a name within a sentence, where its capital is only that of a beginning: not in `Phoenix Docs`."""
    first, *rest = name.split(" ")
    plain = first[1:].islower() and not any(word[:1].isupper() for word in rest)
    return name[:1].lower() + name[1:] if plain else name


def _proposal(draft: _Draft, check: CaseCheck, search: WordSearch) -> Proposal | None:
    """Ask in the first way that names one passage alone and gives nothing away."""
    for question, names in draft.ways:
        if not names or search.holding(names) == [draft.passage]:
            proposal = _checked(draft, question, check)
            if proposal is not None:
                return proposal
    return None


def in_turns(items: Sequence[T], asked: Counter[str], passage_of: Callable[[T], Passage]) -> list[T]:
    """Take one of each note before a second of any; notes that are asked about come last.

    Args:
        items: what is taken, in the order of the notes.
        asked: how many questions there are, by note.
        passage_of: gives the passage that an item is about.
    """
    turn: Counter[tuple[str, str]] = Counter()
    placed = []
    for number, item in enumerate(items):
        passage = passage_of(item)
        placed.append((asked[passage.rel_path] > 0, turn[passage[:2]], number, item))
        turn[passage[:2]] += 1
    return [item for *_, item in sorted(placed, key=lambda place: place[:3])]


def _checked(draft: _Draft, question: str, check: CaseCheck) -> Proposal | None:
    """Make the case, unless its answer stands elsewhere or its question gives it away."""
    together = draft.source == "notes"
    case = Case(
        id="proposal",
        question=question,
        answerable=True,
        gold_supports=draft.supports,
        required_support_groups=((0, 1),) if together else None,
        category="multi_hop" if together else "factual",
        expected_key_facts=() if together else (draft.answer,),
    )
    return None if check.refuses(case) else Proposal.of(draft.source, draft.answer, case)


class CaseCheck:
    """Holds one case after the other against the notes, which are parsed once."""

    def __init__(self, vault: Vault) -> None:
        """Take the notes."""
        self._vault = vault
        self._sections: SectionsOf = sections_of(vault)

    def refuses(self, case: Case) -> bool:
        """Say whether a check would refuse a case, or its question quotes what answers it."""
        try:
            check_anchors(Golden(name="", cases=(case,), hash=""), self._vault, self._sections)
        except UsageError:
            return True
        return any(leaks(case, ""))


def not_asked(proposals: Sequence[Proposal], questions: Sequence[str]) -> list[Proposal]:
    """Keep those that ask what nobody asked before, also not nearly."""
    texts = [words(question) for question in (*questions, *(item.case.question for item in proposals))]
    again = {later - len(questions) for _, later in alike(texts, ALIKE)}
    return [item for place, item in enumerate(proposals) if place not in again]
