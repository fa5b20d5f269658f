"""By which weights an API adds the parts of a score up: least squares over what it lists, where that is exact. Pure.

An API that says it weighs 0.7 of one score and 0.3 of another says so in every chunk it returns. So nothing is
estimated here: either all chunks agree on the weights, or nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, inf, isnan, nan, sqrt
from operator import attrgetter

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
_Row = tuple[float, ...]

_SCORES = attrgetter(*PARTS, "final")


class ScoreParts:
    """The parts and the final score of all places of lists that have one, which pass by.

    Attributes:
        table: a row for each place: its parts, and the final score.
        scored: how many places that are.
        known: which parts are not 0 in all.
    """

    def __init__(self) -> None:
        self.table: list[_Row] = []
        self.scored = 0
        self.known = [False] * len(PARTS)

    def add(self, entries: Iterable[ListEntry]) -> None:
        """Take the places of a list."""
        rows = [row for row in map(_SCORES, entries) if row[-1] is not None]
        self.table += [tuple(map(_number, row)) for row in rows]
        self.known = [has or any(row[at] for row in rows) for at, has in enumerate(self.known)]
        self.scored += len(rows)


def _number(score: float | None) -> float:
    # what is no number agrees with nothing, as infinity does; what is not told has no say
    return nan if score is None else inf if isnan(score) else score


def fitted_weights(scores: ScoreParts) -> Weights | None:
    """Return the weight of each part of the score in the final one; None where the chunks do not agree on them exactly.

    Parts that no chunk has, or that are 0 in all, have no weight and are left out. Formula: the least-squares solution
    of final = sum of weight x part, by the normal equations of the parts scaled to length 1.
    """
    parts = tuple(part for part, any_of_it in zip(PARTS, scores.known, strict=True) if any_of_it)
    rows = _whole_rows(scores.table, [*map(PARTS.index, parts), len(PARTS)])
    fit = all(abs(value) <= LARGEST for row in rows for value in row)
    if not parts or len(rows) < FEWEST or 2 * len(rows) < scores.scored or not fit:
        return None
    places, finals = range(len(parts)), len(parts)
    lengths = [sqrt(fsum(row[at] * row[at] for row in rows)) for at in places]
    if not all(lengths):
        return None
    scales = [*lengths, 1.0]
    solution = _solve(
        [
            [fsum((row[at] / scales[at]) * (row[other] / scales[other]) for row in rows) for other in (*places, finals)]
            for at in places
        ]
    )
    if solution is None:
        return None
    weights = [weight / length for weight, length in zip(solution, lengths, strict=True)]
    allowed = EXACT * max(abs(row[-1]) for row in rows)
    exact = all(abs(_dot(weights, row[:-1]) - row[-1]) <= allowed for row in rows)
    return dict(zip(parts, weights, strict=True)) if exact and allowed else None


def _whole_rows(table: Iterable[_Row], columns: Sequence[int]) -> list[_Row]:
    chosen = (tuple(row[at] for at in columns) for row in table)
    return [row for row in chosen if not any(map(isnan, row))]


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
