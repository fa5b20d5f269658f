"""The nouns of comparing a run with a baseline: deltas, flips, findings, other questions. Frozen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isclose
from typing import Literal, Self

from msgspec import Struct, field

from raggate.base.jsonio import as_dict
from raggate.base.numbers import counted
from raggate.models.baseline import Baseline
from raggate.models.golden import Support
from raggate.models.scorecard import EPSILON, ListEntry, MetricValue, Scorecard, oriented

CauseCode = Literal[
    "api-error",
    "note-not-in-vault",
    "note-not-indexed",
    "folder-not-indexed",
    "anchor-gone",
    "folder-left-out",
    "folder-not-searched",
    "snippet-gone",
    "text-foreign",
    "heading-differs",
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
    "api-error": "the call failed",
    "note-not-in-vault": "the note is not in the vault",
    "note-not-indexed": "no answer contains any part of the note, and the index has lost documents",
    "folder-not-indexed": "the note's folder is not among those available",
    "anchor-gone": "nothing comes back under the heading any more, only under other headings of its note",
    "folder-left-out": "folder selection left the note out",
    "folder-not-searched": "the note's folder was selected, and nothing came from it",
    "snippet-gone": "the section came back without the gold snippet",
    "text-foreign": "the section came back without a text of its own",
    "heading-differs": "the note came back under a heading that does not name the section",
    "other-section": "other parts of the note came back",
    "other-vault": "the note with the same path in another vault came back",
    "list-cut": "the list ends before the passage's rank",
    "chunk-not-searched": "passages with lower scores came back instead",
    "demoted": "the passage fell in the ranking",
    "below-threshold": "the score is below the API's own threshold",
    "abstained": "the API abstained",
    "did-not-abstain": "the API did not abstain",
    "nothing-retrieved": "nothing was retrieved",
    "heading-first": "the first passage has the question's words only in its heading",
    "judged-by-answer": "judged by the answer, not by what was retrieved",
    "not-listed": "not among the passages returned, and nothing shows why",
    "not-explained": "nothing shows why",
}
"""What causes of a code are called together."""

SAME_SCORE = 1e-5
"""Scores that differ by no more, or by no larger share of themselves, are the same: see `same_score`."""

FolderKind = Literal["selected", "available"]
"""What an answer tells of folders."""

Range = tuple[float | None, float | None]
"""A lower and an upper bound of a score, None where there is none."""


Interval = tuple[float, float]
"""Low and high end of a change."""
STORED_KEYS = {"regressed": "lost", "improved": "gained", "unpaired": "lapsed", "full_run": "whole"}
"""Fields of a delta whose keys in files have other names."""


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
        limits: what scores the API's threshold lies between, in the baseline and now; None where that is not known.
        newer: whether what stands above the passage now, and did not, is of a note that was added or changed since the
            baseline.
        overtakers: of a passage whose score did not fall, the chunks above it now that were not: the name of each, and
            its score in the baseline (None if it was not listed) and now.
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
    limits: tuple[Range | None, Range | None] = (None, None)
    newer: Literal["", "added", "changed"] = ""
    overtakers: tuple[tuple[str, float | None, float], ...] = ()
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
        beyond: by mode, which folders (those selected, those available) are no limit, as chunks of several answers came
            from outside of them; those selected too where no chunk shows that they are.
    """

    notes: frozenset[str] = frozenset()
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
        counts: causes in words with how many of them each has, the most frequent first.
        changes: what changed as a whole between the two sides, a clause each.
        likely: a sentence that names the one change or cause that explains most of them, or says that none does; empty
            for a single question whose own line says all there is.
        explains: the questions that fit this change or cause, by mode and case id; none if nothing is named.
    """

    questions: int
    counts: tuple[tuple[str, int], ...]
    changes: tuple[str, ...]
    likely: str
    explains: frozenset[tuple[str, str]] = frozenset()


class Reach(Struct, frozen=True):
    """How far the answers of a mode come, of the questions that something of the vault answers.

    Attributes:
        questions: how many there are, without those that were never asked.
        notes: to how many of them some chunk of a right note came back.
        sections: to how many some chunk that tells a right section, or any of a note that is right as a whole.
        matches: to how many some chunk that counts.
        why: what most of the others have in common, in words; empty where nothing shows.
        by_text: whether the texts could tell the headings that are missing.
    """

    mode: str
    questions: int
    notes: int
    sections: int
    matches: int
    why: str = ""
    by_text: bool = False

    @property
    def sentence(self) -> str:
        """The step in words, without a full stop. A step that lost nothing is covered by the next one."""
        parts = [f"the right note came back for {self.notes} of {counted(self.questions, 'question')}"]
        if self.sections < self.notes:
            parts.append(f"its section for {self.sections}")
        if self.matches < self.sections:
            parts.append(f"its passage for {self.matches}")
        return "; ".join(filter(None, (", ".join(parts), self.why)))


class Uncompared(Struct, frozen=True, kw_only=True):
    """How a metric stands over the cases that cannot be compared one by one, because they were relabelled or added.

    Each is held to a stand-in: a relabelled case to its own value in the baseline, another to the baseline's mean of a
    slice it is in. A `drop` is by how much the metric is worse over these and the compared cases together.

    Attributes:
        n: cases that have a value and a stand-in; `relabelled` of them were in the baseline, labelled otherwise.
        value: their mean.
        expected: the mean of their stand-ins.
        drop: over all cases, or over those that the baseline has by name, whichever is larger; 0 for a gain.
        proven: the same, as far as chance does not explain it; 0 where it may.
        retired: cases that had a value and have none as they are labelled now.
    """

    n: int
    relabelled: int
    value: float
    expected: float
    drop: float
    proven: float
    retired: tuple[str, ...] = ()


class Delta(Struct, frozen=True, kw_only=True):
    """One metric of one slice and mode on both sides, over the same cases. `delta` is current minus baseline.

    Where cases can be paired, both values are over those with a value on both sides: `regressed` of them got worse
    and `improved` better; `unpaired` more had one in the baseline only. Where no pair is left, the current value is
    None if the baseline has one: the metric vanished. `binary` says that every case scores 0 or 1, so that counts tell
    more. `full_run` is the run's own value over all its cases but those waived, where those are more than were
    compared, and `uncompared` how the others among them stand. `fell` names the cases that got worse, compared or held
    to a stand-in. `interval` is the 95% interval of `delta`: Tango's of counts, else that of the t distribution.
    """

    mode: str
    slice: str
    metric: str
    baseline: MetricValue
    current: MetricValue
    delta: float | None
    regressed: int | None = None
    improved: int | None = None
    binary: bool = False
    unpaired: int = 0
    full_run: MetricValue | None = None
    uncompared: Uncompared | None = None
    fell: tuple[str, ...] = ()
    interval: Interval | None = None

    @classmethod
    def between(cls, place: tuple[str, str, str], before: MetricValue, after: MetricValue) -> Self:
        """Set two values of a metric beside each other; `place` is its mode, slice and name."""
        mode, slice_name, metric = place
        return cls(
            mode=mode,
            slice=slice_name,
            metric=metric,
            baseline=before,
            current=after,
            delta=difference(before, after),
        )

    @property
    def gain(self) -> float:
        """By how much the metric got better, negative when it got worse; 0 where that is not known."""
        return oriented(self.current.direction, self.delta or 0.0)

    @property
    def differs(self) -> bool:
        """Whether the metric moved at all."""
        return abs(self.delta or 0.0) > EPSILON

    @property
    def run_value(self) -> MetricValue:
        """The run's own value, whatever it was compared with."""
        return self.full_run or self.current


def difference(before: MetricValue, after: MetricValue) -> float | None:
    """Return how far a value moved, None where there is none on one side."""
    return None if before.value is None or after.value is None else after.value - before.value


def to_stored(delta: Delta) -> dict[str, object]:
    """Return a delta as files hold it."""
    return {STORED_KEYS.get(key, key): value for key, value in as_dict(delta).items()}


class Flip(Struct, frozen=True, kw_only=True):
    """A question that broke, was fixed, got worse without breaking, or must pass and does not though it did not break.

    One that is `absent` was not found, in a mode that no baseline has.

    `metric` is the metric that flipped; `before` and `after` are ranks, None for not in the list. `displaced_by` names
    what rose to where the gold chunk stood, or above it, None where nothing is known to have. `why` is `cause` in
    words, empty for a fixed one. `support` is what `gold` names, None for a question to abstain from. `trace_id` is the
    trace that the question was asked with. `values` are those of `metric` in the baseline and now, where that is of the
    answer and no ranks tell it; else None.
    """

    case_id: str
    mode: str
    kind: Literal["broke", "fixed", "fell", "missed", "absent"]
    metric: str
    question: str
    gold: str
    before: int | None
    after: int | None
    why: str
    displaced_by: str | None
    must_pass: bool
    cause: Cause | None = None
    support: Support | None = None
    waived: bool = False
    since: Literal["same", "relabelled", "added"] = "same"
    trace_id: str | None = None
    values: tuple[float, float] | None = None


class GoldenChanges(Struct, frozen=True, kw_only=True):
    """How the golden set differs from the one the baseline was measured on, by case id.

    `relabelled` cases ask or expect something else and are not compared; `refiled` ones stand in other slices, and
    `released` ones are no longer must-pass.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()
    refiled: tuple[str, ...] = ()
    released: tuple[str, ...] = ()


class NoteChange(Struct, frozen=True, order=True):
    """A note, as `vault/rel_path`, that differs between two states of the vaults. As text it is `added work/a.md`."""

    kind: Literal["added", "changed", "removed"]
    note: str

    def __str__(self) -> str:
        return f"{self.kind} {self.note}"


class Finding(Struct, frozen=True, kw_only=True):
    """An invariant that does not hold. `level` error breaks the gate; `examples` name where, shortest first.

    `message` states the breach with its number. `unseen` says that it is not known to be broken: not all that it needs
    was seen. Then `message` is the rule, and the example says why.
    """

    invariant: str
    level: Literal["error", "warn"]
    message: str
    count: int
    examples: tuple[str, ...] = ()
    unseen: bool = False

    @property
    def state(self) -> str:
        """What is said of the invariant."""
        return "could not be checked" if self.unseen else "is not met"


class Comparison(Struct, frozen=True, kw_only=True):
    """A scorecard held against a baseline: deltas, flips and what is not the same on both sides.

    Attributes:
        compared: how many cases are the same on both sides.
        incomparable: why the two must not be compared at all; then `deltas` and `flips` are empty.
        not_asked: the questions the run has no result for, as mode and case id.
        never_asked: questions of other modes than those asked, and modes without a question, a sentence each.
        no_baseline: why there is no baseline although the project may have one, a sentence.
        evidence: what causes are looked for in beside the answers.
        reach: how far the answers come, in modes without a baseline and in those in which nothing matches.
        untold_headings: modes in which no chunk has a heading: how many questions only headings label, of how many.
    """

    baseline: Baseline | None
    scorecard: Scorecard
    deltas: tuple[Delta, ...] = ()
    flips: tuple[Flip, ...] = ()
    golden: GoldenChanges = GoldenChanges()
    vault_changes: tuple[NoteChange, ...] = ()
    config_changes: tuple[tuple[str, str, str], ...] = ()
    compared: int = 0
    incomparable: tuple[str, ...] = ()
    not_asked: tuple[tuple[str, str], ...] = ()
    never_asked: tuple[str, ...] = ()
    no_baseline: str = ""
    evidence: CauseEvidence | None = None
    reach: tuple[Reach, ...] = ()
    untold_headings: tuple[tuple[str, int, int], ...] = ()

    @property
    def broke(self) -> tuple[Flip, ...]:
        """The questions that broke."""
        return tuple(flip for flip in self.flips if flip.kind == "broke")

    @property
    def fixed(self) -> tuple[Flip, ...]:
        """The questions that were fixed."""
        return tuple(flip for flip in self.flips if flip.kind == "fixed")
