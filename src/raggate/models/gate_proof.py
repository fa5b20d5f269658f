"""The nouns of `raggate prove`: a fault's trial, and what all trials together say of the gate. Frozen."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from raggate.models.answer import VerdictKind
from raggate.models.scorecard import EPSILON
from raggate.models.verdict import CompositeEvidence, Reason

FaultKind = Literal["answers", "env", "patch"]
"""Where a fault is made: in the answers, by the API's environment, or in its source."""


MOST_HARMLESS_RED = 0.1
"""The share of the harmless changes that may be red: a sound gate is red by chance in 5% of them."""

ProofOutcome = Literal["holds", "does not hold", "cannot tell", "interrupted"]


class Trial(Struct, frozen=True, kw_only=True):
    """A run that was judged as a change would be: of the API with a fault, or once more without any.

    Attributes:
        name: the fault, such as `notes dropped`; foreign text where the configuration names it.
        size: how large it is, in words; empty where it has no size.
        kind: where it was made.
        value: the watched metric with the fault, None where it was not measured.
        drop: by how much that is worse than without; None likewise.
        harmed: the share of the questions whose readers get less than without, in the mode where that is largest.
        changed: how many questions have another answer than without.
        evidence: what the test of all questions showed; None where nothing was judged.
        notes: the notes that the fault is about, as `vault/rel_path`; empty where it is about no notes.
        explanation: of a miss: why it was not seen. Empty for what was caught.
    """

    name: str
    size: str
    kind: FaultKind
    outcome: VerdictKind
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[Reason, ...] = ()
    value: float | None = None
    drop: float | None = None
    harmed: float = 0.0
    changed: int = 0
    evidence: CompositeEvidence | None = None
    notes: tuple[str, ...] = ()
    explanation: str = ""

    @property
    def caught(self) -> bool:
        """Whether the gate is not green."""
        return self.outcome != "pass"

    @property
    def harmful(self) -> bool:
        """Whether some reader gets less."""
        return self.harmed > 0


class Untried(Struct, frozen=True, kw_only=True):
    """A fault that says nothing about this API or suite, and why."""

    name: str
    size: str
    why: str


class Watch(Struct, frozen=True, kw_only=True):
    """The metric that is watched, whose fall explains what was missed.

    Attributes:
        value: its mean without any fault, in the mode where that is lowest.
        n: over how many questions.
        tolerance: the largest drop of it that is allowed; None where it is not gated.
        visible: the smallest loss that the test of all questions sees, four times out of five, as far as the runs
            without a fault tell; None where no test decides.
    """

    metric: str
    value: float
    n: int
    tolerance: float | None
    visible: float | None


class GateProof(Struct, frozen=True, kw_only=True):
    """What a proof says.

    Attributes:
        questions: how many are asked, in whichever modes.
        watch: the metric by which faults are measured.
        min_caught: the share of the harmful faults that must be caught.
        planned: how many runs without a fault were asked for.
        repeats: those that were made.
        harmless: the changes that harm nobody on average.
        alarm_limit: the share of them that are red at most, with 95% confidence.
        unasked: the notes that no question is about, as `vault/rel_path`, but for private ones.
        notes: how many notes there are, private ones left out.
        interrupted: whether a signal ended it before all was tried.
    """

    suite: str
    run_id: str
    started: str
    version: str
    questions: int
    modes: tuple[str, ...]
    watch: Watch
    min_caught: float
    planned: int
    repeats: tuple[Trial, ...]
    harmless: tuple[Trial, ...]
    alarm_limit: float
    trials: tuple[Trial, ...]
    untried: tuple[Untried, ...] = ()
    unasked: tuple[str, ...] = ()
    notes: int = 0
    duration_s: float = 0.0
    interrupted: bool = False

    @property
    def false_alarms(self) -> tuple[Trial, ...]:
        """The runs without a fault that the gate is not green on."""
        return tuple(trial for trial in self.repeats if trial.caught)

    @property
    def harmless_red(self) -> tuple[Trial, ...]:
        """The harmless changes that the gate is not green on."""
        return tuple(trial for trial in self.harmless if trial.caught)

    @property
    def harmful(self) -> tuple[Trial, ...]:
        """The faults by which some reader gets less."""
        return tuple(trial for trial in self.trials if trial.harmful)

    @property
    def missed(self) -> tuple[Trial, ...]:
        """The faults that the gate lets through."""
        return tuple(trial for trial in self.trials if not trial.caught)

    @property
    def caught_share(self) -> float | None:
        """The share of the harmful faults that are caught; None where there is none."""
        return sum(trial.caught for trial in self.harmful) / len(self.harmful) if self.harmful else None

    @property
    def outcome(self) -> ProofOutcome:
        """What it comes to."""
        if self.interrupted:
            return "interrupted"
        too_often = len(self.harmless_red) > MOST_HARMLESS_RED * len(self.harmless)
        seldom = self.caught_share is not None and self.caught_share < self.min_caught - EPSILON
        if self.false_alarms or too_often or seldom:
            return "does not hold"
        return "holds" if self.harmful else "cannot tell"
