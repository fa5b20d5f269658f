"""Golden set x vault -> questions that a person may take, made of tables, lists and definitions; and their file.

Each is answerable (its answer stands where it is said to), unique (no other passage has all that it names) and quotes
no heading. They are plain, and a person rewords them as somebody would ask. The file holds those that wait, and those
that were rejected and do not come again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby, islice
from typing import Any, Literal, NamedTuple, Self, TypeVar

import msgspec
from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.jsonio import dumps, loads
from raggate.base.quote import cut
from raggate.inputs import golden
from raggate.inputs.authoring.passages import Passage, WordSearch, passages
from raggate.inputs.headings import SectionsOf, check_anchors, sections_of
from raggate.inputs.lint import ALIKE, alike, leaks
from raggate.inputs.notes import bare, words
from raggate.models.golden import Case, Golden, Vault

MOST_KEY_WORDS = 5
MOST_ANSWER = 300
"""Characters of an answer; what is longer is no fact."""

MAX_LINE = 2_000
"""Characters of a line that is looked at: blanks without end would take the patterns below long."""

FEWEST_DEFINING = 4
"""Words from which on the text behind a name in bold or code defines it."""

Form = Literal["table", "list", "definition"]

_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)")
_PLAIN_KEY = re.compile(r"(?P<key>[^:|*_`]{2,80}?)\s*:\s+(?P<value>\S.*)")
_MARKED_KEY = re.compile(
    r"(?:\*\*`?|__`?|`)(?P<key>[^|*`]{2,80}?)(?:`?\*\*|`?__|`)\s*(?::|\s[-–—]\s)\s*(?P<value>\S.*)"
    r"|(?:\*\*`?|__`?)(?P<own>[^:|*`]{2,80}?)`?:(?:\*\*|__)\s+(?P<rest>\S.*)"
)
_DEFINITION = re.compile(
    r"(?:(?:An?|The)\s+)?(?P<mark>\*\*`?|__`?|`)?(?P<key>[^:|*`.,;()]{2,60}?)(?:`?\*\*|`?__|`)?\s+"
    r"(?P<verb>is|are|means)\s+(?P<value>(?:an?|the)\s.*)"
)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*])")
_VAGUE = frozenset("it its this that these those there they them here he she we also".split())
_SAYING_NOTHING = (["yes"], ["no"], ["none"], ["null"], ["n", "a"], ["true"], ["false"])
_MARKUP = re.compile(r"[*_`\[\]]")
# an address alone says nothing that somebody would ask for
_ADDRESS = re.compile(r"<?https?://\S+")

T = TypeVar("T")
Source = Literal["table", "list", "definition", "model"]
State = Literal["waiting", "rejected"]

MAX_BYTES = 16 << 20
"""Bytes of a file of proposals."""

PER_NOTE = 5
"""Questions of one note that are proposed at a time."""
TRIED_PER_NOTE = 40
"""Questions of one note that are held against the others: most of a long table may read like another."""


class Fact(NamedTuple):
    """Something a passage says, and the answer as it is written.

    `property` is the column of a cell, or the verb of a definition; empty if the form names none.
    """

    form: Form
    subject: str
    property: str
    answer: str


def facts(text: str) -> Iterator[Fact]:
    """Return the facts of a text, in its order."""
    header: list[str] | None = None
    before = ""
    for block in _blocks([line if len(line) <= MAX_LINE else "" for line in text.split("\n")]):
        first = block[0]
        joined = " ".join(line.strip() for line in block)[:MAX_LINE]
        if _FENCE.match(first):
            pass
        elif header is not None and "|" in first:
            yield from _of_row(header, _cells(first))
        elif "|" in first and "-" in first and _RULE.fullmatch(first) and "|" in before:
            header = _cells(before)
            continue
        else:
            yield from _of_item(joined) if _BULLET.match(first) else _of_paragraph(joined)
        header = header if header is not None and "|" in first else None
        before = " ".join(block) if first.strip() else before


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Put the lines of fenced code, an item or a paragraph together; rows of tables stay alone."""
    block: list[str] = []
    fence = ""
    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            block.append(line)
            fence = "" if line.strip().startswith(fence) else fence
            continue
        goes_on = block and block[0].strip() and line.strip() and "|" not in line + block[-1]
        closed = len(block) > 1 and _FENCE.match(block[0])
        if block and (opening or not goes_on or _BULLET.match(line) or closed):
            yield block
            block = []
        block.append(line)
        fence = opening[1] if opening else ""
    if block:
        yield block


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _of_row(header: list[str], cells: list[str]) -> Iterator[Fact]:
    subject = _name(cells[0]) if cells else ""
    for name, cell in zip(map(_name, header[1:]), cells[1:], strict=False):
        if subject and name and _says(cell):
            yield Fact("table", subject, name, cell)


def _of_item(text: str) -> Iterator[Fact]:
    text = _BULLET.sub("", text, count=1)
    marked = _MARKED_KEY.fullmatch(text)
    item = marked or _PLAIN_KEY.fullmatch(text)
    if item is None:
        return
    found = item.groupdict()
    key = bare(found.get("own") or found["key"])
    answer = _first_sentence(found.get("rest") or found["value"])
    # a colon within brackets ends no key
    if key.count("(") == key.count(")") and _name(key) and _says(answer):
        form: Form = "definition" if marked and len(words(answer)) >= FEWEST_DEFINING else "list"
        yield Fact(form, _name(key), "", answer)


def _of_paragraph(text: str) -> Iterator[Fact]:
    """Return what the first sentence of a paragraph defines, if a mark or an article shows that it does."""
    first = _first_sentence(text)
    found = _DEFINITION.fullmatch(first) if len(first) <= MOST_ANSWER else None
    if found is None or not (found["mark"] or first.startswith(("A ", "An "))):
        return
    key = _name(found["key"])
    if key and not _VAGUE & set(words(key)) and len(words(found["value"])) >= FEWEST_DEFINING:
        yield Fact("definition", key, found["verb"], first)


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text, maxsplit=1)[0].strip()


def _name(text: str) -> str:
    """Return a text without markup if it can be the name of something: a few words, with a letter; else nothing."""
    plain = " ".join(_MARKUP.sub("", text).split())
    return plain if len(words(plain)) <= MOST_KEY_WORDS and any(letter.isalpha() for letter in plain) else ""


def _says(text: str) -> bool:
    given = words(text)
    return bool(given) and given not in _SAYING_NOTHING and len(text) <= MOST_ANSWER and not _ADDRESS.fullmatch(text)


class Proposal(NamedTuple):
    """A question that a person may take."""

    id: str
    source: Source
    answer: str
    case: Case

    @classmethod
    def of(cls, source: Source, answer: str, case: Case) -> Self:
        """Make a proposal, with the id that its question has."""
        return cls(sha256(case.question.encode(errors="replace")).hexdigest()[:8], source, answer, case)


def propose(golden: Golden, vault: Vault, passed: Iterable[str], most: int) -> list[Proposal]:
    """Propose questions, those of notes without a question first."""
    known = passages(vault)
    check = CaseCheck(vault)
    search = WordSearch(known)
    asked = Counter(support.rel_path for case in golden.cases for support in case.gold_supports)
    questions = [*(case.question for case in golden.cases), *passed]
    before = frozenset(questions)
    good: list[tuple[Passage, Proposal]] = []
    for _, note in groupby(known, key=lambda item: (item.vault, item.rel_path)):
        said = [(passage, fact) for passage in note for fact in facts(passage.text)]
        step = max(1, len(said) // PER_NOTE)
        spread = [said[place] for place in sorted(range(len(said)), key=lambda place: place % step)]
        tried = ((passage, _proposal(passage, fact, check, search)) for passage, fact in spread[:TRIED_PER_NOTE])
        own = ((passage, item) for passage, item in tried if item is not None and item.case.question not in before)
        good += islice(own, PER_NOTE)
    turns = in_turns(good, asked, lambda item: item[0])
    return not_asked([proposal for _, proposal in turns], questions)[:most]


def _ways(fact: Fact, title: str) -> Iterator[tuple[str, str]]:
    """Yield ways to ask for a fact, each with what it names."""
    names = f"{fact.subject} {fact.property}"
    if fact.form == "definition":
        names = fact.subject
        asked = f"what {'are' if fact.property == 'are' else 'is'} {_small(fact.subject)}?"
    elif fact.form == "list":
        asked = f"what is noted for {_small(fact.subject)}?"
    else:
        yield f"For {fact.subject}, what is “{fact.property}”?", names
        yield f"In {title}, what is “{fact.property}” of {fact.subject}?", f"{names} {title}"
        return
    yield f"W{asked[1:]}", names
    yield f"In {title}, {asked}", f"{names} {title}"


def _small(name: str) -> str:
    """Begin a name within a sentence, where its capital is only that of a beginning: not in `Phoenix Docs`."""
    first, *rest = name.split(" ")
    plain = first[1:].islower() and not any(word[:1].isupper() for word in rest)
    return name[:1].lower() + name[1:] if plain else name


def _proposal(passage: Passage, fact: Fact, check: CaseCheck, search: WordSearch) -> Proposal | None:
    """Ask in the first way that names one passage alone, gives nothing away, and has its answer nowhere else."""
    title = passage.path[0] if passage.path else passage.rel_path.rpartition("/")[2].removesuffix(".md")
    alone = (question for question, names in _ways(fact, title) if search.holding(names) == [passage])
    cases = (check.case(question, fact.answer, passage) for question in alone)
    return next((Proposal.of(fact.form, fact.answer, case) for case in cases if not check.refuses(case)), None)


def in_turns(items: Sequence[T], asked: Counter[str], passage_of: Callable[[T], Passage]) -> list[T]:
    """Take one of each note before a second of any; notes that are asked about come last."""
    turn: Counter[tuple[str, str]] = Counter()
    placed = []
    for number, item in enumerate(items):
        passage = passage_of(item)
        placed.append((asked[passage.rel_path] > 0, turn[passage[:2]], number, item))
        turn[passage[:2]] += 1
    return [item for *_, item in sorted(placed, key=lambda place: place[:3])]


class CaseCheck:
    """Makes and checks one case after the other against the notes, which are parsed once."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._sections: SectionsOf = sections_of(vault)

    def case(self, question: str, answer: str, passage: Passage) -> Case:
        """Return the case that asks for a fact of a passage."""
        support = replace(passage.support(self._vault), snippets=(answer,))
        return Case(
            id="proposal", question=question, answerable=True, gold_supports=(support,), expected_key_facts=(answer,)
        )

    def refuses(self, case: Case) -> bool:
        """Return whether a check would refuse a case, or its question quotes what answers it."""
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


class Kept(NamedTuple):
    """A proposal, and whether it waits or was rejected."""

    proposal: Proposal
    state: State = "waiting"


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    state: State
    source: Source
    answer: str
    case: dict[str, Any]


def load(data: bytes, name: str) -> list[Kept]:
    """Read the file."""
    kept: dict[str, Kept] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.convert(loads(line), _Row)
            case = golden.read_case(dumps(row.case), number)
        except (ValueError, TypeError) as error:
            hint = "Remove the line or the whole file. `raggate golden propose` writes a new one."
            raise UsageError(f"{name}:{number}: {cut(error)}", hint=hint) from None
        kept[row.id] = Kept(Proposal(row.id, row.source, row.answer, case), row.state)
    return list(kept.values())


def write(kept: Iterable[Kept]) -> bytes:
    """Write the file: a line for each, in order."""
    return b"".join(dumps(_row(item), in_order=True) + b"\n" for item in kept)


def _row(item: Kept) -> dict[str, Any]:
    own = item.proposal
    answer = own.answer.encode(errors="replace").decode()
    case = golden.row_of(own.case)
    return {"id": own.id, "state": item.state, "source": own.source, "answer": answer, "case": case}
