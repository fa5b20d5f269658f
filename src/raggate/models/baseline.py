"""The nouns of the baseline: the stored scorecard, what was accepted of a metric, and why it may be lower. Frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Self

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from raggate.base.jsonio import JsonObject
from raggate.models.run import Run
from raggate.models.scorecard import MetricValue, Scorecard

MOST_BYTES = 256 << 20
"""Bytes of a baseline file: those of some 110,000 questions with ten chunks each."""

Slices = dict[str, dict[str, dict[str, MetricValue]]]
"""Means by mode, slice and metric."""


MAX_VALUE = 1e12
"""No metric is larger; what is would not survive rounding."""
Number = Annotated[float, Meta(ge=-MAX_VALUE, le=MAX_VALUE)]
Day = Annotated[str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]


class AcceptedDrop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That the best value became a lower one: on which day, from and to which value, why, and by whom."""

    on: Day
    # files say from and to, and the one is a word of Python's own
    before: Number = field(name="from")
    after: Number = field(name="to")
    reason: str
    by: str


class RatchetEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The best accepted value of a metric, the day it is of, and the sum of small accepted drops since, at least 0."""

    best: Number
    drops: Annotated[float, Meta(ge=0, le=MAX_VALUE)]
    since: Day
    lowered: AcceptedDrop | None = None


class Baseline(Struct, frozen=True, kw_only=True):
    """A stored scorecard with where it came from. `cases` is empty for a bare metrics file of another tool.

    `accepted` maps mode and metric to what was accepted of it. `unfit` says why nothing must be held against it: it is
    a run directory that no promotion would take, not a baseline file. `restate` scores a run by the definitions of the
    system whose means these are; None where they are raggate's own. `commit` is the one that a file was read from,
    None for one on disk. `other_grades` says that it had judged metrics by others than the judges of the run, which
    were taken out.
    """

    source: str
    scorecard: Scorecard
    provenance: JsonObject
    unfit: tuple[str, ...] = ()
    commit: str | None = None
    accepted: Mapping[str, Mapping[str, RatchetEntry]] = field(default_factory=dict)
    other_grades: bool = False
    restate: Callable[[Run, Scorecard, Baseline], Restated] | None = None

    @property
    def paired(self) -> bool:
        """Whether single cases can be compared, not only means."""
        return bool(self.scorecard.cases)

    def without_questions(self) -> Self:
        """Return its means alone: the cases of many versions are much memory."""
        return replace(self, scorecard=replace(self.scorecard, cases=()))


class Restated(Struct, frozen=True, kw_only=True):
    """A baseline with the numbers of questions filled in, and the run's means by its definitions.

    `problems` say why these cannot be computed, or are of other questions than those of the baseline.
    """

    baseline: Baseline
    current: Slices = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class Calibration(Struct, frozen=True, kw_only=True):
    """Equal runs of one build, as one run whose questions were asked that many times.

    Attributes:
        scorecard: its scores, with the noise in the fingerprint.
        pairs: how many times one of the runs was held against another.
        alarms: in how many of these the gate would have been red, by `gate.policy`.
    """

    run: Run
    scorecard: Scorecard
    boots: int
    pairs: int
    alarms: Mapping[str, int]
