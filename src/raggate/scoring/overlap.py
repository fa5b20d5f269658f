"""Two rankings -> how much of them is the same, the top counting most. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

PERSISTENCE = 0.9
"""The chance that a reader looks at the next rank too: the first ten ranks then make up 86% of the value."""


def rank_biased_overlap(first: Sequence[Hashable], second: Sequence[Hashable], p: float = PERSISTENCE) -> float:
    """Say how alike two rankings are, extrapolated beyond where they end: from 0, nothing in common, to 1, the same.

    Source: Webber, Moffat, Zobel, "A similarity measure for indefinite rankings", ACM TOIS 28(4), 2010, equation 32.

    Args:
        first: a ranking; what stands in it again, further down, has no rank.
        second: another, of any length. Two empty ones are the same.
        p: persistence, above 0 and below 1.
    """
    short, long = sorted((list(dict.fromkeys(first)), list(dict.fromkeys(second))), key=len)
    if not short:
        return float(not long)
    shared = _shared_to(short, long)
    size, depth = len(short), len(long)
    seen = sum(shared[d - 1] / d * p**d for d in range(1, depth + 1))
    # below the end of the shorter one it is taken to go on as it agreed so far
    seen += sum(shared[size - 1] * (d - size) / (size * d) * p**d for d in range(size + 1, depth + 1))
    beyond = (shared[-1] - shared[size - 1]) / depth + shared[size - 1] / size
    return min((1 - p) / p * seen + beyond * p**depth, 1.0)


def _shared_to(short: Sequence[Hashable], long: Sequence[Hashable]) -> list[int]:
    """Count, for each depth of the longer ranking, what stands in both down to there."""
    left: set[Hashable] = set()
    right: set[Hashable] = set()
    counts = []
    for depth, item in enumerate(long):
        right.add(item)
        left.update(short[depth : depth + 1])
        counts.append(len(left & right))
    return counts
