"""The nouns of why questions got worse: the cause of one, what both sides' lists show, and what it comes to. Frozen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isclose
from typing import Literal

from msgspec import Struct, field

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
    "heading-ambiguous",
    "heading-partial",
    "heading-otherwise",
    "heading-missing",
    "other-section",
    "other-vault",
    "list-cut",
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

GROUPS: Mapping[CauseCode, str] = {
    "not-asked": "not asked",
    "api-error": "the call failed",
    "note-not-in-vault": "the note is not in the vault",
    "note-not-indexed": "no answer contains any part of the note, and the index has lost documents",
    "folder-not-indexed": "the note's folder is not among those available",
    "anchor-gone": "nothing comes back under the heading any more, only under other headings of its note",
    "anchor-moved": "the section came back under another heading, or without one",
    "folder-left-out": "folder selection left the note out",
    "folder-not-searched": "the note's folder was selected, and nothing came from it",
    "snippet-gone": "the section came back without the gold snippet",
    "text-missing": "the section came back without any text",
    "text-foreign": "the section came back with a text that is not the note's",
    "text-cut": "the section came back with a cut text",
    "heading-differs": "the note came back under a heading that it does not have",
    "heading-ambiguous": "the note came back under a heading that could be several of its own",
    "heading-partial": "the note came back under only the last headings of the section",
    "heading-otherwise": "the note came back under the section's headings, but written differently or below others",
    "heading-missing": "the note came back without a heading path",
    "other-section": "other sections of the note came back",
    "other-vault": "the note with the same path in another vault came back",
    "list-cut": "the list ends before the passage's rank",
    "chunk-not-searched": "chunks with lower scores came back instead of the passage",
    "demoted": "the passage fell in the ranking",
    "below-threshold": "the score is below the API's own threshold",
    "abstained": "the API abstained",
    "did-not-abstain": "the API did not abstain",
    "nothing-retrieved": "nothing was retrieved",
    "heading-first": "the first chunk has the question's words only in its heading",
    "judged-by-answer": "judged by the answer, not by what was retrieved",
    "not-listed": "not among the chunks returned, and nothing shows why",
    "not-explained": "nothing shows why",
}
"""What causes of a code are called together."""

SAME_SCORE = 1e-5
"""Scores that differ by no more, or by no larger share of themselves, are the same: see `same_score`."""

FolderKind = Literal["selected", "available"]
"""What an answer tells of folders."""

Range = tuple[float | None, float | None]
"""A lower and an upper bound of a score, None where there is none."""


def same_score(score: float, other: float) -> bool:
    """Return whether two scores are the same: baselines round them, and some APIs add in 32 bits."""
    return isclose(score, other, rel_tol=SAME_SCORE, abs_tol=SAME_SCORE)


class Cause(Struct, frozen=True, kw_only=True):
    """Why a question got worse, as data. Which fields are filled depends on `code`; the sentence is made of them.

    Attributes:
        code: what was seen.
        passage: the passage that is meant, where that is not the first that is expected.
        subject: the passage, note, folder or chunk it is about.
        other: what stands there instead: a heading, or a folder.
        words: the API's own words: a message, or the reason to abstain; or the gold snippet that is looked for.
        folders: the folders that were selected, or are available.
        rank: where the passage, or what is of its note, stands now.
        returned: how many chunks came back.
        documents: how many the index held, and holds.
        before: the passage's place in the baseline's list.
        after: its place in this one.
        last: the lowest score that is listed.
        by_weights: the score that the parts which the passage had make by the weights of now.
        limits: what scores the API's threshold lies between, in the baseline and now; None where that is not known.
        copy: whether what stands above the passage now, and did not, says nearly the same.
        newer: whether it is of a note that was added or changed since the baseline.
        stood_clear: of a passage that did not come back, whether it stood too far above what is listed for scores that
            moved as those of other chunks did to have put it out, or is not known to have stood near it; of a question
            that got nothing, or a shorter list, whether others got something that scores less.
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
    by_weights: float | None = None
    limits: tuple[Range | None, Range | None] = (None, None)
    copy: bool = False
    newer: Literal["", "added", "changed"] = ""
    stood_clear: bool = False


class ListEvidence(Struct, frozen=True, kw_only=True):
    """What the lists of one mode show, in the baseline and now; None where they do not.

    Attributes:
        weights: by which the parts of a score are added up, exactly.
        thresholds: the highest score at which the API abstained, None where it never did, and the lowest at which it
            did not, likewise; where every answer is on its side of them.
        floors: the lowest score of any chunk that was returned, where several of the baseline's chunks score less than
            any does now.
        longest: how many chunks the longest list of now has: one that is as long may be cut there.
        rescored: of `final`, `vector` and `lexical`, whether chunks that both sides list for a question have other ones
            now; without those that too few chunks tell.
        shift: by how much the final score of such a chunk moved at most; None where none has one on both sides.
        answered: the least best score of any list of now that did not come with an abstention; None where none has one.
        overtaking: how many such chunks rose above one that stood above them, at most.
        renumbered: whether ids of chunks were given anew, so that those of one note are known by their order alone.
        filled: to how many questions anything came back.
        lengths: how many distinct chunks came back on average to questions of both, as far down as lists are kept.
        unordered: whether some list, of either side, does not fall by its final scores: rank is then not by them.
        scored: whether final scores tell something: not where they follow from the rank alone, or are smaller than what
            a baseline keeps of them. Nothing else is then known of them here.
    """

    weights: tuple[Mapping[str, float] | None, Mapping[str, float] | None] = (None, None)
    thresholds: tuple[Range | None, Range | None] = (None, None)
    floors: tuple[float | None, float | None] = (None, None)
    longest: int = 0
    rescored: Mapping[str, bool] = field(default_factory=dict)
    shift: float | None = None
    answered: float | None = None
    overtaking: int = 0
    renumbered: bool = False
    filled: tuple[int, int] = (0, 0)
    lengths: tuple[float, float] = (0.0, 0.0)
    unordered: bool = False
    scored: bool = True

    @property
    def steady(self) -> bool:
        """Whether chunks are known to have the scores they had, and to be ranked by them."""
        return self.rescored.get("final") is False and not self.unordered


class CauseEvidence(Struct, frozen=True, kw_only=True):
    """What causes are looked for in beside a question's own answer.

    Attributes:
        notes: what is in the vaults, as `vault/rel_path`; empty when that is not known.
        changes: notes added and changed since the baseline, with which of the two.
        lists: by mode.
        retrieved: by path, the headings under which any answer at all holds a chunk of the note.
        gone: the notes of passages that the baseline's lists hold, and that no answer has a chunk of: by path, the
            vaults that the golden set names.
        recut: whether the index says that it holds other chunks of the same notes, or is of another version.
        documents: how many the index held in the baseline's run and holds now, of the same notes; None where the API
            does not say.
        folders: by mode, how folder selection went, in the baseline and now; empty where that is not told.
        beyond: by mode, which folders of an answer (those selected, those available) its chunks came from outside of,
            so that they are no limit; those selected too where no chunk shows that they are.
    """

    notes: Collection[str] = ()
    changes: Mapping[str, Literal["added", "changed", "removed"]] = field(default_factory=dict)
    lists: Mapping[str, ListEvidence] = field(default_factory=dict)
    retrieved: Mapping[str, Collection[str]] = field(default_factory=dict)
    gone: Mapping[str, Collection[str]] = field(default_factory=dict)
    recut: bool = False
    documents: tuple[int, int] | None = None
    folders: Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]] = field(default_factory=dict)
    beyond: Mapping[str, Collection[FolderKind]] = field(default_factory=dict)


class Diagnosis(Struct, frozen=True, kw_only=True):
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
