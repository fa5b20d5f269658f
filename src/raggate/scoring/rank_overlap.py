"""How alike two rankings are, the top counting most: rank-biased overlap, extrapolated, with ties. Pure.

Source: W. Webber, A. Moffat, J. Zobel, A similarity measure for indefinite rankings, ACM Transactions on Information
Systems 28 (4), 2010: agreement with ties (section 4.5), lists of other lengths (equation 32).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

PERSISTENCE = 0.9
"""How likely a reader goes on from one rank to the next: the first ten ranks have 86% of the weight."""

Ranking = Sequence[Sequence[Hashable]]
"""Groups of tied items, best first; an item stands in one of them."""


def rank_biased_overlap(first: Ranking, second: Ranking, p: float = PERSISTENCE) -> float:
    """Return the extrapolated rank-biased overlap: 1 for the same ranking, 0 for nothing in common.

    Formula: (1 - p) / p * sum of A_d * p^d over d = 1..l, plus A_l * p^l. A_d is the agreement at depth d,
    2 * |S_d and L_d| / (|S_d| + |L_d|), where items that are tied all stand at the first of their ranks; beyond its end
    the shorter list is taken to agree as it did there. Two empty rankings are the same.
    """
    if first == second:
        return 1.0
    short, long = sorted((_by_depth(first), _by_depth(second)), key=len)
    if not short or not long:
        return 0.0
    agreements = [_agreement(short, long, depth) for depth in range(1, len(long) + 1)]
    total = sum(agreement * p**depth for depth, agreement in enumerate(agreements, 1))
    return min((1 - p) / p * total + agreements[-1] * p ** len(long), 1.0)


def _by_depth(ranking: Ranking) -> list[frozenset[Hashable]]:
    """Return what stands at each depth or above, from depth 1: of a tie everything at once."""
    depths: list[frozenset[Hashable]] = []
    above: frozenset[Hashable] = frozenset()
    for group in ranking:
        above = above.union(group)
        depths += [above] * len(group)
    return depths


def _agreement(short: Sequence[frozenset[Hashable]], long: Sequence[frozenset[Hashable]], depth: int) -> float:
    end = len(short)
    lower, upper = short[min(depth, end) - 1], long[depth - 1]
    beyond = max(0, depth - end)
    common = len(lower & upper) + (beyond * _agreement(short, long, end) if beyond else 0.0)
    return 2 * common / (len(lower) + beyond + len(upper))
