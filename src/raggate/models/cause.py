"""The nouns of why questions got worse: the cause of one, what both sides' lists show, and what it comes to. Frozen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from raggate.models.scorecard import ListEntry

CauseCode = Literal[
    "not-asked",
    "api-error",
    "note-not-in-vault",
    "note-not-indexed",
    "folder-not-indexed",
    "anchor-gone",
    "anchor-moved",
    "folder-left-out",
    "folder-not-searched",
    "snippet-gone",
    "text-missing",
    "text-foreign",
    "text-cut",
    "heading-differs",
    "other-section",
    "other-vault",
    "chunk-not-searched",
    "demoted",
    "below-threshold",
    "abstained",
    "did-not-abstain",
    "nothing-retrieved",
    "heading-first",
    "judged-by-answer",
    "not-listed",
    "not-explained",
]
"""What was seen. The last two name no cause: they say what the answer shows."""

Range = tuple[float | None, float | None]
"""A lower and an upper bound of a score, None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a question got worse, as data. Which fields are filled depends on `code`; the sentence is made of them.

    Attributes:
        code: what was seen.
        passage: the passage that is meant, where that is not the first that is expected.
        subject: the passage, note, folder or chunk it is about.
        other: what stands there instead: a heading, or a folder.
        words: the API's own words: a message, or the reason to abstain.
        folders: the folders that were selected, or are available.
        rank: where the passage, or what is of its note, stands now.
        returned: how many chunks came back.
        documents: how many the index held, and holds.
        before: the passage's place in the baseline's list.
        after: its place in this one.
        last: the lowest score that is listed.
        limits: what scores the API's threshold lies between, in the baseline and now; None where that is not known.
        copy: whether what stands above the passage now, and did not, says nearly the same.
        newer: whether it is of a note that was added or changed since the baseline.
    """

    code: CauseCode
    passage: str = ""
    subject: str = ""
    other: str = ""
    words: str = ""
    folders: tuple[str, ...] = ()
    rank: int | None = None
    returned: int | None = None
    documents: tuple[int, int] | None = None
    before: ListEntry | None = None
    after: ListEntry | None = None
    last: float | None = None
    limits: tuple[Range | None, Range | None] = (None, None)
    copy: bool = False
    newer: Literal["", "added", "changed"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEvidence:
    """What the lists of one mode show, in the baseline and now; None where they do not.

    Attributes:
        weights: by which the parts of a score are added up, exactly.
        thresholds: the highest score at which the API abstained, None where it never did, and the lowest at which it
            did not, likewise; where every answer is on its side of them.
        floors: the lowest score of any chunk that was returned.
        longest: how many chunks the longest list of now has: one that is as long may be cut there.
        rescored: of `final`, `vector` and `lexical`, whether chunks that both sides list for a question have other ones
            now; without those that too few chunks tell.
    """

    weights: tuple[Mapping[str, float] | None, Mapping[str, float] | None] = (None, None)
    thresholds: tuple[Range | None, Range | None] = (None, None)
    floors: tuple[float | None, float | None] = (None, None)
    longest: int = 0
    rescored: Mapping[str, bool] = field(default_factory=dict)

    @property
    def steady(self) -> bool:
        """Whether chunks are known to have the scores they had."""
        return self.rescored.get("final") is False


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseEvidence:
    """What causes are looked for in beside a question's own answer.

    Attributes:
        notes: what is in the vaults, as `vault/rel_path`; empty when that is not known.
        changes: notes added and changed since the baseline, with which of the two.
        lists: by mode.
        retrieved: by mode and path, the headings under which any answer holds a chunk of the note.
        recut: whether the index says that it holds other chunks of the same notes, or is of another version.
        documents: how many the index held in the baseline's run and holds now, of the same notes; None where the API
            does not say.
        folders: by mode, how folder selection went, in the baseline and now; empty where that is not told.
    """

    notes: Collection[str] = ()
    changes: Mapping[str, Literal["added", "changed", "removed"]] = field(default_factory=dict)
    lists: Mapping[str, ListEvidence] = field(default_factory=dict)
    retrieved: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)
    recut: bool = False
    documents: tuple[int, int] | None = None
    folders: Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why the questions got worse, one level up.

    Attributes:
        questions: how many got worse.
        counts: causes in words with how many of them each has, the most frequent first.
        changes: what changed as a whole between the two sides, a clause each.
        likely: a sentence that names the one change or cause that explains most of them, or says that none does; empty
            for a single question whose own line says all there is.
    """

    questions: int
    counts: tuple[tuple[str, int], ...]
    changes: tuple[str, ...]
    likely: str
