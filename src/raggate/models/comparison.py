"""The nouns of comparing a run with a baseline: deltas, flips, findings, other questions. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from msgspec import Struct

from raggate.models.baseline import Baseline
from raggate.models.cause import Cause, CauseEvidence
from raggate.models.golden import Support
from raggate.models.reach import Reach
from raggate.models.scorecard import EPSILON, MetricValue, Scorecard, oriented
from raggate.text.shapes import Stored
from raggate.text.struct_fields import as_dict

Interval = tuple[float, float]
"""Low and high end of a change."""


class Uncompared(Stored, frozen=True, kw_only=True):
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


class Delta(Stored, frozen=True, kw_only=True):
    """One metric of one slice and mode on both sides, over the same cases. `delta` is current minus baseline.

    Where cases can be paired, both values are over those with a value on both sides, of which `regressed` got worse
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


STORED_KEYS = {"regressed": "lost", "improved": "gained", "unpaired": "lapsed", "full_run": "whole"}
"""Fields of a delta whose keys in files have other names."""


def to_stored(delta: Delta) -> dict[str, object]:
    """Return a delta as files hold it."""
    return {STORED_KEYS.get(key, key): value for key, value in as_dict(delta).items()}


def from_stored(row: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a delta that a file holds, not checked yet."""
    fields = {stored: name for name, stored in STORED_KEYS.items()}
    return {fields.get(key, key): value for key, value in row.items()}


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


class GoldenChanges(Stored, frozen=True, kw_only=True):
    """How the golden set differs from the one the baseline was measured on, by case id.

    `relabelled` cases ask or expect something else and are not compared; `refiled` ones stand in other slices, and
    `released` ones are no longer must-pass.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()
    refiled: tuple[str, ...] = ()
    released: tuple[str, ...] = ()


class NoteChange(Stored, frozen=True, order=True):
    """A note, as `vault/rel_path`, that differs between two states of the vaults. As text it is `added work/a.md`."""

    kind: Literal["added", "changed", "removed"]
    note: str

    def __str__(self) -> str:
        return f"{self.kind} {self.note}"


class Finding(Struct, frozen=True, kw_only=True):
    """An invariant that does not hold. `level` error breaks the gate; `examples` name where, shortest first.

    `unseen` says that it is not known to be broken: not all that it needs was seen, and the example says why.
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


class UntoldHeadings(Struct, frozen=True, kw_only=True):
    """A mode in which no chunk has a heading; `questions` of those with supports are labelled by headings alone."""

    mode: str
    questions: int
    of: int


class Comparison(Struct, frozen=True, kw_only=True):
    """A scorecard held against a baseline: deltas, flips and what is not the same on both sides.

    `compared` counts the cases that are the same on both sides. `incomparable` lists why the two must not be compared
    at all; then `deltas` and `flips` are empty. `not_asked` names the questions the run has no result for, as mode and
    case id; `idle` those for modes that are not asked at all, and `idle_modes` the modes that no question is for.
    `uncommitted` is the baseline's file where the working tree has one and the commit that judges has none.
    `keeps_none` says what kind of run it is, of those that keep no baseline; empty for others.
    `asked_again` counts calls of the run that failed first. `evidence` is what causes are looked for in
    beside the answers. `reach` tells how far the answers come, of modes without a baseline and of those in which
    nothing matches. `untold_headings` are the modes in which the API tells no heading though labels name some.
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
    idle: tuple[str, ...] = ()
    idle_modes: tuple[str, ...] = ()
    uncommitted: str = ""
    asked_again: int = 0
    keeps_none: str = ""
    evidence: CauseEvidence | None = None
    reach: tuple[Reach, ...] = ()
    untold_headings: tuple[UntoldHeadings, ...] = ()

    @property
    def broke(self) -> tuple[Flip, ...]:
        """The questions that broke."""
        return tuple(flip for flip in self.flips if flip.kind == "broke")

    @property
    def fixed(self) -> tuple[Flip, ...]:
        """The questions that were fixed."""
        return tuple(flip for flip in self.flips if flip.kind == "fixed")
