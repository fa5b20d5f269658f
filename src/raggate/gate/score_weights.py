"""By which weights an API adds the parts of a score up: least squares over what it lists, where that is exact. Pure.

An API that says it weighs 0.7 of one score and 0.3 of another says so in every chunk it returns. So nothing is
estimated here: either all chunks agree on the weights, or nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, sqrt

from raggate.models.scorecard import ListEntry

PARTS = ("vector", "lexical")
"""The parts of a score that entries hold."""

FEWEST = 12
"""Chunks from which on that all agree is no accident."""

EXACT = 1e-3
"""Share of the largest final score by which the sum of the parts may miss one: APIs round, and some add in 32 bits."""

LARGEST = 1e6
"""Scores beyond it, either way, are none that weights can be told of exactly."""

APART = 1e-3
"""Share of a part's own length that must be left once the others are taken out of it; below, they go together."""

Weights = Mapping[str, float]


def fitted_weights(entries: Iterable[ListEntry]) -> Weights | None:
    """Give the weight of each part of the score in the final one; None where the chunks do not agree on them exactly.

    Parts that no chunk has, or that are 0 in all, have no weight and are left out. Formula: the least-squares solution
    of final = sum of weight x part, by the normal equations of the parts scaled to length 1.
    """
    scored = [entry for entry in entries if entry.final is not None]
    parts = tuple(part for part in PARTS if any(getattr(entry, part) for entry in scored))
    rows = [[getattr(entry, part) for part in parts] + [entry.final] for entry in scored]
    rows = [row for row in rows if None not in row]
    fit = all(abs(value) <= LARGEST for row in rows for value in row)
    if not parts or len(rows) < FEWEST or 2 * len(rows) < len(scored) or not fit:
        return None
    *columns, finals = zip(*rows, strict=True)
    lengths = [sqrt(_dot(column, column)) for column in columns]
    if not all(lengths):
        return None
    scaled = [[value / length for value in column] for column, length in zip(columns, lengths, strict=True)]
    solution = _solve([[_dot(column, other) for other in (*scaled, finals)] for column in scaled])
    if solution is None:
        return None
    weights = [weight / length for weight, length in zip(solution, lengths, strict=True)]
    allowed = EXACT * max(abs(final) for final in finals)
    exact = all(abs(_dot(weights, row[:-1]) - row[-1]) <= allowed for row in rows)
    return dict(zip(parts, weights, strict=True)) if exact and allowed else None


def _solve(rows: list[list[float]]) -> list[float] | None:
    """Solve symmetric equations of unit diagonal, right-hand side last; None where they hardly tell the parts apart."""
    size = len(rows)
    for pivot in range(size):
        if rows[pivot][pivot] < APART:
            return None
        for other in range(size):
            if other != pivot:
                factor = rows[other][pivot] / rows[pivot][pivot]
                rows[other] = [value - factor * own for value, own in zip(rows[other], rows[pivot], strict=True)]
    return [row[-1] / row[place] for place, row in enumerate(rows)]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return fsum(a * b for a, b in zip(left, right, strict=True))
