"""What an upgrade does to the answers, scored without raggate: by snippets of the golden set and a sign-flip test."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEPTH = 5
ALLOWED = 0.05
"""How much hit@5 may fall: raggate's own default."""
CHANCE = 0.05
FLIPS = 20_000
"""Draws of the sign-flip test."""

Case = dict[str, Any]
Hit = dict[str, Any]
Answers = Mapping[str, Sequence[Hit]]


def found(hits: Sequence[Hit], case: Case) -> list[int]:
    """Return by rank how many passages that a person marked a hit is the first to hold."""
    left = [(own["rel_path"], [re.sub(r"\s", "", text) for text in own["snippets"]]) for own in case["gold_supports"]]
    ranks = []
    for hit in hits:
        text = re.sub(r"\s", "", hit["text"])
        held = [own for own in left if own[0] == hit.get("path") and any(part in text for part in own[1])]
        left = [own for own in left if own not in held]
        ranks.append(len(held))
    return ranks


def ndcg(ranks: Sequence[int], ideal: int) -> float:
    """Return nDCG with one relevant passage a rank at most."""
    gain = sum(1 / math.log2(rank + 2) for rank, held in enumerate(ranks) if held)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(ideal, DEPTH)))


def chance(differences: Sequence[float]) -> float:
    """Return how often random signs lose as much as these differences, or more."""
    moved = [value for value in differences if value]
    draw = random.Random(7)
    lost = sum(moved)
    times = sum(sum(value if draw.random() < 0.5 else -value for value in moved) <= lost for _ in range(FLIPS))
    return (times + 1) / (FLIPS + 1) if moved else 1.0


@dataclass(frozen=True)
class Truth:
    """What both sides answer, scored without raggate."""

    hits: tuple[float, float]
    gains: tuple[float, float]
    lost: int
    won: int
    p: float
    equal: bool
    answers: bool

    @property
    def worse(self) -> bool:
        """Whether the new side is worse: hit@5 beyond what is allowed, or nDCG@5 beyond chance."""
        return not self.answers or self.hits[0] - self.hits[1] > ALLOWED or self.p < CHANCE


def truth_of(cases: Sequence[Case], old: Answers, new: Answers | None) -> Truth:
    """Score both sides; None is one that does not start."""
    cases = [case for case in cases if case["gold_supports"]]
    sides = [[found((side or {}).get(case["id"], ()), case) for case in cases] for side in (old, new)]
    hits = [[float(any(ranks)) for ranks in side] for side in sides]
    ideal = [len(case["gold_supports"]) for case in cases]
    gains = [[ndcg(ranks, most) for ranks, most in zip(side, ideal, strict=True)] for side in sides]
    changes = [after - before for before, after in zip(*hits, strict=True)]
    texts = [[[hit["text"] for hit in (side or {}).get(case["id"], ())] for case in cases] for side in (old, new)]
    return Truth(
        hits=(sum(hits[0]) / len(cases), sum(hits[1]) / len(cases)),
        gains=(sum(gains[0]) / len(cases), sum(gains[1]) / len(cases)),
        lost=changes.count(-1),
        won=changes.count(1),
        p=chance([after - before for before, after in zip(*gains, strict=True)]),
        equal=texts[0] == texts[1],
        answers=any((new or {}).values()),
    )


def is_true(verdict: str, truth: Truth) -> str:
    """Return whether a verdict says what is so."""
    if not truth.answers:
        return "yes" if verdict == "cannot tell" else "no"
    if verdict == "cannot tell":
        return "open"
    return "yes" if (verdict in {"regression", "invariant broken"}) == truth.worse else "no"
