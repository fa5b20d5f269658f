"""Questions from elsewhere x vault -> cases whose gold supports are certain, and the others with why and candidates.

A context that stands in one place of the vault names it, and an answer of some words does where there is no context.
What stands nowhere, in several places, or could mean two things, is left to a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple

from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.jsonio import dumps
from raggate.base.quote import cut
from raggate.inputs import headings
from raggate.inputs.authoring.golden_file import id_of_words, with_cases
from raggate.inputs.authoring.passages import Passage, Stand, TextIndex, WordSearch, passages
from raggate.inputs.authoring.question_sets import Needed, Question
from raggate.inputs.headings import SectionsOf, check_anchors, sections_of
from raggate.inputs.notes import spaced, words
from raggate.models.golden import Case, Golden, Support, Vault

SURE_WORDS = 4
"""Words from which on a text alone names its place: fewer stand somewhere by chance."""

MAX_TEXT = 20_000
MAX_FACT = 2_000
CANDIDATES = 3
SHOWN = 300
"""Characters of a text that is only to be recognised."""


class Undecided(NamedTuple):
    """A question that no case was made of: why, and passages that may answer it."""

    question: Question
    reason: str
    candidates: tuple[Passage, ...] = ()


class Imported(NamedTuple):
    """What came of a file: the cases, the undecided, and how many questions the golden set had already."""

    cases: tuple[Case, ...]
    undecided: tuple[Undecided, ...]
    known: int


def anchored(questions: Iterable[Question], golden: Golden, vault: Vault, several: Needed | None) -> Imported:
    """Anchor questions; `several` says which contexts of one are needed where the file does not, and None refuses."""
    index, search = TextIndex(vault), WordSearch(passages(vault))
    sections = sections_of(vault)
    asked = {" ".join(words(case.question)) for case in golden.cases}
    taken = {case.id for case in golden.cases}
    cases: list[Case] = []
    undecided: list[Undecided] = []
    known = 0
    for question in questions:
        key = " ".join(words(question.question))
        if key in asked:
            known += 1
            continue
        asked.add(key)
        try:
            usable = question.id.strip() and len(question.id) <= 200 and question.id not in taken
            name = question.id if usable else id_of_words(question.question, taken)
            case = _verified(replace(_case(question, index, several), id=name), vault, sections)
        except _Unsure as unsure:
            candidates = unsure.candidates or search.find(" ".join((*question.answers, question.question)), CANDIDATES)
            undecided.append(Undecided(question, str(unsure), tuple(candidates)))
            continue
        taken.add(name)
        cases.append(case)
    return Imported(tuple(cases), tuple(undecided), known)


class _Unsure(Exception):
    """Why a question is left to a person, with passages where these are known."""

    def __init__(self, reason: str, candidates: Sequence[Passage] = ()) -> None:
        super().__init__(reason)
        self.candidates = candidates


def _case(question: Question, index: TextIndex, several: Needed | None) -> Case:
    if len(question.question) > MAX_TEXT:
        raise _Unsure(f"the question has {len(question.question)} characters")
    if question.impossible:
        raise _Unsure("its source has no answer. Do your notes have one? You decide")
    if question.contexts:
        named = zip_longest(question.contexts, question.documents, fillvalue="")
        found = ((text, _only(text, index, "context", name)) for text, name in named)
        stands = [_narrowed(stand, text, question.answers, index) for text, stand in found]
    elif question.answers:
        stands = [_of_answers(question.answers, index)]
    else:
        raise _Unsure("it has neither an answer nor a context")
    places = dict.fromkeys(stands)
    needed = question.needed or several
    if len(places) > 1 and needed is None:
        reason = "its contexts are in several places. Say with --several whether any or all are needed"
        raise _Unsure(reason, [_shown(stand, index) for stand in places])
    supports = _supports(question, stands, index)
    groups = (tuple(range(len(supports))),) if needed == "all" and len(supports) > 1 else None
    return Case(
        id="",
        question=question.question,
        answerable=True,
        gold_supports=supports,
        required_support_groups=groups,
        category="multi_hop" if groups else "factual",
        # of several answers each is one by itself, and none of them must be said
        expected_key_facts=tuple(
            text for text in question.answers if len(question.answers) == 1 and len(text) <= MAX_FACT
        ),
    )


def _narrowed(stand: Stand, context: str, answers: Sequence[str], index: TextIndex) -> Stand:
    """Return the section of a context over several in which its answer stands, where that is certain."""
    given = spaced(context)
    inside = [answer for answer in answers if words(answer) and spaced(answer) in given]
    places = {place for answer in inside for place in index.within(stand, answer)}
    place = places.pop() if len(places) == 1 else stand
    return stand if index.is_twice(place) else place


def _of_answers(answers: Sequence[str], index: TextIndex) -> Stand:
    sure = [answer for answer in answers if len(words(answer)) >= SURE_WORDS] or answers[:1]
    places = {_only(answer, index, "answer") for answer in sure if index.stands(answer) or len(sure) == 1}
    if len(places) != 1:
        raise _Unsure("its answers are " + ("in several places" if places else "nowhere in the notes"))
    return places.pop()


def _only(text: str, index: TextIndex, what: str, document: str = "") -> Stand:
    """Return the one place where a text stands; of several, the one in the note that its document is named after."""
    if len(words(text)) < SURE_WORDS:
        raise _Unsure(f"its {what} has fewer than {SURE_WORDS} words, which can match by chance")
    stands = index.stands(text)
    if len(stands) > 1:
        stands = tuple(stand for stand in stands if stand.rel_path in {document, f"{document}.md"}) or stands
    if not stands:
        raise _Unsure(f"its {what} is not in the notes, word for word")
    if len(stands) > 1:
        raise _Unsure(f"its {what} is in several places", [_shown(stand, index) for stand in stands])
    if index.is_twice(stands[0]):
        raise _Unsure(f"its {what} is below a heading that the note has twice", [_shown(stands[0], index)])
    return stands[0]


def _shown(stand: Stand, index: TextIndex) -> Passage:
    text = index.text(stand)
    heading = index.support(stand).heading_path
    return Passage(stand.vault, stand.rel_path, stand.path, headings.line_of(text, heading), "")


def _supports(question: Question, stands: Sequence[Stand], index: TextIndex) -> tuple[Support, ...]:
    snippets = tuple(text for text in question.answers if len(words(text)) > 0 and len(text) <= MAX_TEXT)
    grades: dict[Stand, int] = {}
    for stand, grade in zip(stands, question.grades or (1,) * len(stands), strict=False):
        grades[stand] = max(grade, grades.get(stand, 1))
    return tuple(
        replace(index.support(stand), grade=min(grade, 100), snippets=snippets) for stand, grade in grades.items()
    )


def _verified(case: Case, vault: Vault, sections: SectionsOf) -> Case:
    """Keep those snippets that a check finds where they are said to be, and see that a line can hold the case."""

    def check(*supports: Support) -> Case:
        own = replace(case, gold_supports=supports)
        check_anchors(Golden(name="", cases=(own,), hash=""), vault, sections)
        return own

    supports = []
    for support in case.gold_supports:
        standing = []
        for text in support.snippets:
            with suppress(UsageError):
                check(replace(support, snippets=(text,)))
                standing.append(text)
        supports.append(replace(support, snippets=tuple(standing)))
    try:
        with_cases(b"", [replace(case, gold_supports=tuple(supports))])
        return check(*supports)
    except (ValueError, UsageError) as error:
        raise _Unsure(f"no question can be made of it: {error}") from None


def lines(undecided: Iterable[Undecided]) -> bytes:
    """Write them, a line each. `anchor` is what `raggate golden add --anchor` takes."""
    return b"".join(dumps(_row(item), in_order=True) + b"\n" for item in undecided)


def _row(item: Undecided) -> dict[str, Any]:
    anchors = ((f"{it.vault}/{it.rel_path}{it.heading_path or ''}", it.text) for it in item.candidates)
    return {
        "question": _text(item.question.question),
        "why": _text(item.reason),
        "candidates": [{"anchor": _text(anchor), "text": _text(text)} for anchor, text in anchors],
        "answers": [*map(_text, item.question.answers)],
        "contexts": [*map(_text, item.question.contexts)],
        "from": _text(item.question.place),
    }


def _text(text: str) -> str:
    # YAML can hold half a character, which JSON cannot
    return cut(text, limit=SHOWN).encode(errors="replace").decode()
