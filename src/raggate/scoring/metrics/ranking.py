"""What the retrieval metrics share: a ranking as the supports it meets, rank by rank."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from math import log2
from typing import TypeVar

from raggate.models.golden import Case, Support
from raggate.models.run import LabelledResult

T = TypeVar("T")
Ranking = list[tuple[int, ...]]
"""Per rank, the indices of the gold supports that the chunk matches; chunks seen before have no rank."""


def once(function: Callable[[LabelledResult], T]) -> Callable[[LabelledResult], T]:
    """Remember what a function gave for the last result: every metric asks the same of it, for every cut-off."""
    last: tuple[LabelledResult, T] | None = None

    @wraps(function)
    def remembered(item: LabelledResult) -> T:
        nonlocal last
        # one pair, so that two threads can at worst compute the same twice
        if (known := last) is None or known[0] is not item:
            known = last = item, function(item)
        return known[1]

    return remembered


@once
def ranking(item: LabelledResult) -> Ranking:
    """Return the ranking of one result; empty for a failed call."""
    dropped = set(item.labels.duplicates)
    return [supports for position, supports in enumerate(item.labels.matches) if position not in dropped]


def matches_of(item: LabelledResult) -> Hashable:
    """Return all that a metric of the matches alone sees of a result: few results differ in it."""
    case, labels = item.case, item.labels
    supports = tuple([(support.grade, len(support.heading_path or "")) for support in case.gold_supports])
    return labels.matches, labels.duplicates, labels.judged, supports, case.required_support_groups, case.answerable


def labelled(case: Case) -> bool:
    """Return whether retrieval can be scored for the case at all."""
    return case.answerable and bool(case.gold_supports)


def first_hit(ranks: Ranking) -> int | None:
    """Return the rank, from 1, of the first chunk that matches a gold support."""
    return next((rank for rank, supports in enumerate(ranks, 1) if supports), None)


def complete_at(ranks: Ranking, groups: Sequence[Sequence[int]]) -> int | None:
    """Return the depth at which all supports of some group have been seen."""
    seen: set[int] = set()
    for rank, supports in enumerate(ranks, 1):
        seen.update(supports)
        if supports and any(seen.issuperset(group) for group in groups):
            return rank
    return None


@once
def gains_of(item: LabelledResult) -> list[int]:
    """Return the graded gain per rank of one result; see `gains`."""
    return gains(ranking(item), item.case.gold_supports)


def gains(ranks: Ranking, supports: Sequence[Support]) -> list[int]:
    """Return the graded gain per rank. A support is gained once, and a chunk gains at most one support.

    So pieces of one long section, or one chunk that meets two nested anchors, cannot gain more than the ideal.
    """
    open_supports = set(range(len(supports)))
    gained = []
    for matches in ranks:
        if not matches:
            gained.append(0)
            continue
        new = [index for index in matches if index in open_supports]
        best = max(
            new, key=lambda index: (supports[index].grade, len(supports[index].heading_path or "")), default=None
        )
        if best is None:
            gained.append(0)
        else:
            open_supports.discard(best)
            gained.append(supports[best].grade)
    return gained


def discounted(values: Sequence[float]) -> float:
    """Sum gains with the discount 1 / log2(rank + 1)."""
    return sum(value / log2(rank + 1) for rank, value in enumerate(values, 1) if value)
