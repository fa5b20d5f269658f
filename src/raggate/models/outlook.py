"""The nouns of what a suite can show before anything is asked: its questions, what it sees, how often it is red."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class ModeOutlook(Struct, frozen=True, kw_only=True):
    """What the questions of a mode can show.

    Attributes:
        mode: the mode.
        questions: how many are asked in it, in `units` independent groups.
        heavy: how many of them the largest group has, where losing it whole is more than what would be seen if all
            groups were alike; else 0.
        visible_drop: the smallest drop that their test sees four times out of five; None where it can see none.
        fine: the gated metrics whose tolerance is finer than that.
        small: the gated metrics of too few questions to be judged alone, each with their number.
    """

    mode: str
    questions: int
    units: int
    visible_drop: float | None
    heavy: int = 0
    fine: tuple[str, ...] = ()
    small: tuple[tuple[str, int], ...] = ()


MOST_FALSE_ALARMS = 0.10
"""Share of harmless changes that a policy which suits is red on at most."""

LEAST_CAUGHT = 0.25
"""Share of harmful changes that it is red on at least: a gate that is never red is none."""


class PolicyOdds(Struct, frozen=True, kw_only=True):
    """How often a policy makes a suite red, from 0 to 1: on changes that do no harm, and on those that do."""

    policy: str
    neutral: float
    harmful: float

    @property
    def suits(self) -> bool:
        """Whether it rarely cries wolf, and sees harm often enough to be a gate."""
        return self.neutral <= MOST_FALSE_ALARMS and self.harmful >= LEAST_CAUGHT


def catches_most(odds: Sequence[PolicyOdds], policy: PolicyOdds) -> bool:
    """Return whether no other policy that suits, or none where this one does not, catches as much as this one."""
    return sum(other.harmful >= policy.harmful for other in odds if other.suits == policy.suits) == 1


class Outlook(Struct, frozen=True, kw_only=True):
    """What a suite can show, and which policy suits it.

    `part_of` is how many questions the golden set has where the suite asks some of them, else None. `odds` are empty,
    and nothing is `recommended`, without a baseline that has single questions; `gated` counts the metrics that were
    gated in it, `finest` is the smallest tolerance of them. `slices_fail` says that slices are judged too, which the
    odds leave out.
    """

    suite: str
    policy: str
    questions: int
    modes: tuple[ModeOutlook, ...]
    odds: tuple[PolicyOdds, ...] = ()
    recommended: str = ""
    gated: int = 0
    finest: float = 0.0
    slices_fail: bool = False
    part_of: int | None = None
