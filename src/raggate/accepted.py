"""The nouns of the ratchet: what was accepted of a metric, and the records of why it may be lower. Frozen."""

from __future__ import annotations

from dataclasses import dataclass


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
