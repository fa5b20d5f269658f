"""The nouns of what a suite can show before anything is asked: its questions, and what it sees."""

from __future__ import annotations

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


class Outlook(Struct, frozen=True, kw_only=True):
    """What a suite can show. `part_of` counts the questions of the golden set where it asks some of them, else None."""

    suite: str
    policy: str
    questions: int
    modes: tuple[ModeOutlook, ...]
    part_of: int | None = None
