"""The nouns of the golden set and the fixture vault. Frozen."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from raggate.base.jsonio import dumps
from raggate.base.numbers import counted

MOST_NAMED = 20
"""Questions that a command line names one by one."""
SCORED_KEYS = (
    "question",
    "answerable",
    "required_support_groups",
    "recency_conflict_rule",
    "vaults",
    "folders",
    "k",
    "detail",
    "expected_doc_ids",
    "must_contain",
    "forbidden",
)
_SUPPORT_KEYS = ("rel_path", "heading_path", "snippets", "vault", "grade", "chunk_id", "doc_id")


class Support(Struct, frozen=True):
    """One gold support: a place in the vault whose text answers the question.

    `heading_path` is None for the whole note; `vault` is None when the case does not say. `grade` is a graded
    relevance, 1 or more; 0 for a place that does not answer. A chunk must contain one of `snippets` when there are any.
    A support that a case names by `chunk_id` or `doc_id` alone has an empty `rel_path` and no other labels but its
    grade.
    """

    rel_path: str
    heading_path: str | None = None
    snippets: tuple[str, ...] = ()
    vault: str | None = None
    grade: int = 1
    chunk_id: str | None = None
    doc_id: str | None = None


class Case(Struct, frozen=True):
    """One question of the golden set.

    `required_support_groups` holds indices into `gold_supports`: OR of groups, AND within a group. `hash` covers what
    a score depends on (question, labels, facts, scope), not how the case is filed (category, tags, difficulty).
    `not_relevant` are places that people judged and that do not answer, each of grade 0 and without snippets.
    `expected_chunk_ids`, or else `expected_doc_ids`, stand in `gold_supports` too when the case has no others.
    `must_contain` and `forbidden` are texts that the answer must and must not hold, letter by letter.
    """

    id: str
    question: str
    answerable: bool
    gold_supports: tuple[Support, ...] = ()
    not_relevant: tuple[Support, ...] = ()
    required_support_groups: tuple[tuple[int, ...], ...] | None = None
    recency_conflict_rule: str | None = None
    expected_key_facts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    category: str = "factual"
    difficulty: str = "medium"
    group: str | None = None
    modes: tuple[str, ...] | None = None
    must_pass: bool = False
    k: int | None = None
    detail: str | None = None
    expected_doc_ids: tuple[str, ...] = ()
    expected_chunk_ids: tuple[str, ...] = ()
    must_contain: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    lang: str | None = None
    hash: str = ""
    line: int = 0

    def vaults_of(self, support: Support) -> tuple[str, ...]:
        """Return the vaults that a support may be in; none stands for all."""
        return (support.vault,) if support.vault else self.vaults

    def may_be_in(self, vault: str | None, support: Support) -> bool:
        """Return whether a vault may be that of a support; an API that tells none gets the benefit of the doubt."""
        return vault is None or vault in (self.vaults_of(support) or (vault,))


Question = tuple[Case, str]
"""A case and the mode that it is asked in."""


def by_id(cases: Iterable[Case]) -> dict[str, Case]:
    """Return the cases by their ids."""
    return {case.id: case for case in cases}


def places_of(cases: Iterable[Case]) -> dict[str, int]:
    """Return by the id of each case its place, from 0."""
    return {case.id: place for place, case in enumerate(cases)}


class Golden(Struct, frozen=True, kw_only=True):
    """A golden set: the cases in file order, the file's name for messages, and the hash of its content.

    `part_of` is how many questions the file holds where a suite asks some of them, which alone are its cases; None
    where it asks all.
    """

    name: str
    cases: Sequence[Case]
    hash: str
    part_of: int | None = None

    @property
    def asked(self) -> str:
        """Return how many questions there are, and of how many in the file."""
        if self.part_of is None:
            return counted(len(self.cases), "question")
        return f"{len(self.cases)} of {counted(self.part_of, 'question')} of {self.name}"

    @property
    def noun(self) -> str:
        """What messages call it: a question that a suite does not ask may stand in the file."""
        return "the golden set" if self.part_of is None else "the suite's part of the golden set"


class Malformed(NamedTuple):
    """Where the first byte of a note is that is not UTF-8: its offset, from 0, and its line, from 1."""

    byte: int
    line: int

    def __str__(self) -> str:
        """The same as a part of a sentence."""
        return f"not UTF-8 at byte {self.byte}; what cannot be read became \N{REPLACEMENT CHARACTER}"


class Vault(Struct, frozen=True, kw_only=True):
    """The fixture notes: the directory of each vault, the text of each note, and what identifies the content.

    `texts` is keyed by (vault, rel_path); notes without any text are left out, as an index has no document for them.
    `notes` maps `vault/rel_path` to a short hash of the text; `hash` covers all of them. `malformed` says of the notes
    that are not UTF-8 where that begins; their texts have a replacement character for what cannot be read.
    """

    directories: dict[str, Path]
    texts: dict[tuple[str, str], str]
    notes: dict[str, str]
    hash: str
    malformed: dict[tuple[str, str], Malformed] = field(default_factory=dict)

    @property
    def named_texts(self) -> dict[str, str]:
        """The text of each note by the name that `notes` has for it."""
        return {f"{vault}/{path}": text for (vault, path), text in self.texts.items()}

    def notes_at(self, rel_path: str, vaults: Sequence[str] = ()) -> list[tuple[str, str]]:
        """Return the notes of a path, as vault and path: in some of the vaults, or in all where none is named."""
        return [(name, rel_path) for name in vaults or self.directories if (name, rel_path) in self.texts]

    @property
    def size(self) -> int:
        """How many characters the notes have together."""
        return sum(map(len, self.texts.values()))


class Choice(Struct, frozen=True, kw_only=True):
    """What a command line says of the questions to ask; empty: all of them. All that is said must hold.

    Attributes:
        matching: an expression of words over id, question, tags and category (`-k`).
        cases: ids (`--case`); any of them.
        slices: slices as in reports, `difficulty=hard` (`--slice`); any of those of one dimension, in every dimension.
        failed: whether those that were broken when they were last asked (`--failed`).
        limit: at most so many of them, in the order of the golden set (`--limit`).
    """

    matching: str | None = None
    cases: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    failed: bool = False
    limit: int | None = None

    @property
    def words(self) -> str:
        """The options as they are typed."""
        given = [] if self.matching is None else ["-k", self.matching]
        for option, values in (("--case", self.cases), ("--slice", self.slices)):
            given += [word for value in values for word in (option, value)]
        given += ["--failed"] if self.failed else []
        given += [] if self.limit is None else ["--limit", str(self.limit)]
        return " ".join(map(shlex.quote, given))


EVERYTHING = Choice()
"""All questions are asked."""


class Selection(Struct, frozen=True, kw_only=True):
    """The questions that a partial run asks: `asked` by id, of so many questions, and the options that said so."""

    asked: tuple[str, ...]
    of: int
    words: str

    @property
    def sentence(self) -> str:
        """The sentence that a run is partial, whatever its results, without an end mark."""
        choice = f" ({self.words})" if self.words else ""
        return f"partial: {len(self.asked)} of {counted(self.of, 'question')} chosen{choice}"


def naming(cases: tuple[str, ...]) -> str:
    """Write the options that ask these questions by id; empty for none, or for too many to name."""
    return Choice(cases=cases).words if len(cases) <= MOST_NAMED else ""


def digest(cases: Iterable[Case]) -> str:
    """Hash a golden set by content: the order of its lines and the layout of its JSON do not count."""
    return hash_of_list(sorted((case.id, case.hash) for case in cases))[:16]


def hash_of_list(items: Iterable[object]) -> str:
    """Return the SHA-256 of a JSON array of these items, which is never in memory as a whole."""
    hashed, comma = hashlib.sha256(b"["), b""
    for item in items:
        hashed.update(comma + dumps(item))
        comma = b","
    hashed.update(b"]")
    return hashed.hexdigest()


def with_hash(case: Case) -> Case:
    """Return the case its content hash: what a score depends on, and nothing else.

    Only keys that say something are hashed, so that a new optional key does not change the hash of older cases. The
    expected key facts have a part of their own: baselines from before they counted hold the first part alone.
    """
    scored = {key: value for key in SCORED_KEYS if (value := getattr(case, key)) not in (None, ())}
    scored["gold_supports"] = [
        {key: value for key in _SUPPORT_KEYS if (value := getattr(support, key)) not in (None, ())}
        for support in case.gold_supports
    ]
    facts = f"-{_hash(case.expected_key_facts)}" if case.expected_key_facts else ""
    return replace(case, hash=_hash(scored) + facts)


def _hash(value: object) -> str:
    return hashlib.sha256(dumps(value)).hexdigest()[:16]
