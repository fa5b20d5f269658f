"""The nouns of the baseline: the stored scorecard, what was accepted of a metric, and why it may be lower. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from raggate.models.scorecard import Scorecard


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """That a lower value was promoted: on which day, from and to which value, why, and by whom."""

    on: str
    before: float
    after: float
    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The best accepted value of a metric, the day it is of, and the sum of small accepted drops since, at least 0."""

    best: float
    drops: float
    since: str
    lowered: Lowered | None = None
    moved: Lowered | None = None  # the last time that `best` became worse because the questions are others


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A stored scorecard with where it came from. `cases` is empty for a bare metrics file of another tool.

    `accepted` maps mode and gated metric to what was accepted of it; empty for files from before that was kept. `unfit`
    says why nothing must be held against it: it is a run directory that no promotion would take, not a baseline file.
    `early` files are from before case hashes covered the expected key facts.
    """

    source: str
    scorecard: Scorecard
    provenance: dict[str, Any]
    unfit: tuple[str, ...] = ()
    early: bool = False
    accepted: Mapping[str, Mapping[str, Accepted]] = field(default_factory=dict)

    @property
    def paired(self) -> bool:
        """Whether single cases can be compared, not only means."""
        return bool(self.scorecard.cases)
