"""How far several people or judges agree, corrected for chance.

Krippendorff's alpha for nominal data as in K. Krippendorff, *Computing Krippendorff's Alpha-Reliability* (2011),
section C: any number of annotators, values may be missing. Kappa with quadratic weights as in J. Cohen, *Weighted
kappa* (1968).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import fsum

from raggate.scoring.intervals import DEFAULT, Interval, Sampling, bootstrap

Unit = Sequence[Hashable]
"""The values that annotators gave one unit; an annotator who did not judge it is simply not there."""


def krippendorff_alpha(units: Sequence[Unit], *, without_variation: float | None = None) -> float | None:
    """Return Krippendorff's alpha for nominal values: 1 is perfect agreement, 0 is chance, below 0 is worse.

    Formula: 1 - (n - 1) * sum_u(sum_{c != k} n_uc * n_uk / (m_u - 1)) / sum_{c != k} n_c * n_k over the units u with
    m_u >= 2 values, where n_uc counts value c in unit u, n_c over all such units, and n is the number of their values.
    None when no unit has two values. When all are the same it is `without_variation`, as Krippendorff leaves 0/0 open.
    """
    return alpha_of_counts([Counter(unit) for unit in units if len(unit) > 1], without_variation)


def alpha_of_counts(counts: Sequence[Counter[Hashable]], without_variation: float | None) -> float | None:
    """Return Krippendorff's alpha by how often each value was given to each unit of at least two."""
    totals: Counter[Hashable] = Counter()
    parts = []
    for count in counts:
        totals.update(count)
        size = count.total()
        parts.append((size * size - sum(number * number for number in count.values())) / (size - 1))
    n = totals.total()
    if n == 0:
        return None
    expected = n * n - sum(number * number for number in totals.values())
    if expected == 0:
        return without_variation
    return 1.0 - (n - 1) * fsum(parts) / expected


def weighted_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights of two annotators who grade on a scale, over the same units.

    Formula: 1 - sum_i (a_i - b_i)^2 / (sum_i sum_j (a_i - b_j)^2 / n): the squared distance of the two grades of a
    unit, against that of grades drawn from what each of them gave. 1 is perfect agreement, 0 is chance, below is worse.
    None for no units, and when both gave the same single grade everywhere.
    """
    n = len(first)
    squares = fsum(value * value for value in (*first, *second))
    by_chance = n * squares - 2 * fsum(first) * fsum(second)
    # two annotators with one and the same grade leave nothing but what rounding does to sums
    if by_chance <= 1e-12 * n * squares:
        return None
    return 1.0 - n * fsum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / by_chance


def weighted_kappa_interval(
    first: Sequence[float], second: Sequence[float], sampling: Sampling = DEFAULT
) -> Interval | None:
    """Return the seeded percentile bootstrap interval of `weighted_kappa`, resampling units; see `intervals.bootstrap`.

    Resamples in which nothing varies are left out.
    """
    pairs = [*zip(first, second, strict=True)]
    if not pairs:
        return None
    return bootstrap(len(pairs), lambda drawn: weighted_kappa(*zip(*(pairs[i] for i in drawn), strict=True)), sampling)


def percent_agreement(units: Sequence[Unit]) -> float | None:
    """The share of agreeing pairs per unit, averaged over the units with two values; None when there are none."""
    shares = []
    for unit in units:
        size = len(unit)
        if size > 1:
            agreeing = sum(number * (number - 1) for number in Counter(unit).values())
            shares.append(agreeing / (size * (size - 1)))
    return fsum(shares) / len(shares) if shares else None
