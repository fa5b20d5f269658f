"""Simulated retrieval: the rank of one relevant note for each question, before and after a change.

Before, hit@5 is 0.85 and MRR@10 0.67. A change touches half of the questions: their latent score is drawn again,
correlated with the old one so strongly that the wanted share of all questions leaves the first five, and as many enter.
A `soft` change also moves the latent scores of the touched questions down, and a `hard` one loses some of their notes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import log2, sqrt
from random import Random
from statistics import NormalDist
from typing import Literal

NORMAL = NormalDist()
SHARES = (0.555, 0.13, 0.075, 0.05, 0.04, 0.012, 0.012, 0.012, 0.012, 0.012)
"""How often the note is at rank 1, 2, ... 10; in the other cases it is not in the list."""

HIT_AT_5 = sum(SHARES[:5])
ABSENT = len(SHARES) + 1
LIMITS = [NORMAL.inv_cdf(share) for share in accumulate(SHARES)]
"""Latent scores at which the next rank begins; low is good."""

TOUCHED = 0.5
CUTOFFS = (1, 3, 5, 10)


@dataclass(frozen=True)
class Change:
    """What a change does: the share of questions that leave and that enter the first five, and the fall of hit@5."""

    name: str
    churn: float
    kind: Literal["soft", "hard"] = "soft"
    drop: float = 0.0


CHANGES = (
    Change("noise .5% each way", 0.005),
    Change("churn 2.5%", 0.025),
    Change("churn 5.5%", 0.055),
    *(Change(f"soft {points} pt", 0.025, "soft", points / 100) for points in (2, 5, 10)),
    *(Change(f"hard {points} pt", 0.025, "hard", points / 100) for points in (2, 5, 10)),
)


def simulate(change: Change, n: int, rng: Random, size: int = 1) -> tuple[list[int], list[int]]:
    """Return the ranks of n questions before and after, from 1, 11 for not in the list.

    `size` questions in a row are of one note: the change touches or loses them together, and they share half of what is
    drawn again.
    """
    correlation = _correlation(change.churn)
    shift = lost = 0.0
    if change.kind == "soft":
        shift = NORMAL.inv_cdf(HIT_AT_5) - NORMAL.inv_cdf(HIT_AT_5 - change.drop / TOUCHED)
    else:
        lost = change.drop / TOUCHED / HIT_AT_5
    before, after = [], []
    for _ in range(n // size):
        touched, gone, shared = rng.random() < TOUCHED, rng.random() < lost, rng.gauss(0.0, 1.0)
        for _ in range(size):
            old, again = rng.gauss(0.0, 1.0), (shared + rng.gauss(0.0, 1.0)) / sqrt(2.0)
            new = correlation * old + sqrt(1.0 - correlation**2) * again + shift
            before.append(_rank(old))
            after.append((ABSENT if gone else _rank(new)) if touched else _rank(old))
    return before, after


def scores(ranks: Sequence[int]) -> list[Mapping[str, float]]:
    """Return the metrics of each question."""
    return [_scores(rank) for rank in ranks]


@cache
def _scores(rank: int) -> Mapping[str, float]:
    listed = rank < ABSENT
    return {f"hit_at_{k}": float(rank <= k) for k in CUTOFFS} | {
        "mrr_at_10": 1.0 / rank if listed else 0.0,
        "ndcg_at_10": 1.0 / log2(rank + 1) if listed else 0.0,
    }


def _rank(latent: float) -> int:
    return bisect_right(LIMITS, latent) + 1


@cache
def _correlation(churn: float) -> float:
    """Solve P(old within the first five, new not) = churn / TOUCHED for the correlation of old and new."""
    low, high = 0.0, 1.0 - 1e-9
    for _ in range(40):
        middle = (low + high) / 2.0
        if _leaving(middle) > churn / TOUCHED:
            low = middle
        else:
            high = middle
    return low


def _leaving(correlation: float, points: int = 2000) -> float:
    limit, begin = NORMAL.inv_cdf(HIT_AT_5), -8.0
    spread, width = sqrt(1.0 - correlation**2), (limit - begin) / points
    weighted = _weighted(begin, width, points)
    return sum(weight * NORMAL.cdf((correlation * x - limit) / spread) for x, weight in weighted) * width


@cache
def _weighted(begin: float, width: float, points: int) -> list[tuple[float, float]]:
    """Return the points at which is integrated, each with the density of the normal distribution there."""
    return [(x, NORMAL.pdf(x)) for x in (begin + (i + 0.5) * width for i in range(points))]
