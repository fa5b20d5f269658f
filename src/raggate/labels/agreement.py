"""Inter-annotator agreement: judgments of several annotators in, chance-corrected agreement per label and pair out.

Krippendorff's alpha for nominal data as in K. Krippendorff, *Computing Krippendorff's Alpha-Reliability* (2011),
section C: any number of annotators, values may be missing. Cohen's kappa as in J. Cohen, *A coefficient of agreement
for nominal scales* (1960), and with quadratic weights as in his *Weighted kappa* (1968).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from math import fsum

from raggate.errors import UsageError
from raggate.labels.intervals import DEFAULT, Sampling, bootstrap
from raggate.labels.models import LABELS, Interval, Judgment, LabelAgreement, PairAgreement
from raggate.text.quote import cut, quoted

Unit = Sequence[Hashable]
"""The values that annotators gave one unit; an annotator who did not judge it is simply not there."""


def krippendorff_alpha(units: Sequence[Unit], *, without_variation: float | None = None) -> float | None:
    """Return Krippendorff's alpha for nominal values: 1 is perfect agreement, 0 is chance, below 0 is worse.

    Formula: 1 - (n - 1) * sum_u(sum_{c != k} n_uc * n_uk / (m_u - 1)) / sum_{c != k} n_c * n_k over the units u with
    m_u >= 2 values, where n_uc counts value c in unit u, n_c over all such units, and n is the number of their values.

    Args:
        without_variation: what to give when all values are the same, where the formula is 0/0. The annotation system
            this comes from says 1.0; Krippendorff calls it undefined, which is the default.

    Returns:
        None when no unit has two values, or nothing varies.
    """
    return _alpha([Counter(unit) for unit in units if len(unit) > 1], without_variation)


def _alpha(counts: Sequence[Counter[Hashable]], without_variation: float | None) -> float | None:
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


def alpha_interval(
    units: Sequence[Unit], sampling: Sampling = DEFAULT, *, without_variation: float | None = None
) -> Interval | None:
    """Return the seeded percentile bootstrap interval of alpha, resampling units; see `intervals.bootstrap`.

    Only units with two values are resampled. Resamples in which nothing varies are left out, unless
    `without_variation` says what they count as.

    Returns:
        None when alpha is defined in no resample, and for one unit.
    """
    counts = [Counter(unit) for unit in units if len(unit) > 1]
    if not counts:
        return None
    return bootstrap(len(counts), lambda drawn: _alpha([counts[index] for index in drawn], without_variation), sampling)


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators over the same units, in the same order.

    Formula: (p_o - p_e) / (1 - p_e), p_o the share of units with equal values, p_e the sum over values of the product
    of the two annotators' shares.

    Returns:
        None for no units, and when chance alone would make both agree always (p_e = 1).

    Raises:
        ValueError: when the lengths differ.
    """
    n = len(first)
    if n != len(second):
        raise ValueError(f"{n} values against {len(second)}")
    ours, theirs = Counter(first), Counter(second)
    # whole numbers throughout, so that p_e = 1 is told exactly
    chance = sum(number * theirs[value] for value, number in ours.items())
    if n == 0 or chance == n * n:
        return None
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    return (n * equal - chance) / (n * n - chance)


def weighted_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights of two annotators who grade on a scale, over the same units.

    Formula: 1 - sum_i (a_i - b_i)^2 / (sum_i sum_j (a_i - b_j)^2 / n): the squared distance of the two grades of a
    unit, against that of grades drawn from what each of them gave. 1 is perfect agreement, 0 is chance, below is worse.
    A median of several judges may lie between two grades.

    Returns:
        None for no units, and when both gave the same single grade everywhere.

    Raises:
        ValueError: when the lengths differ.
    """
    n = len(first)
    if n != len(second):
        raise ValueError(f"{n} values against {len(second)}")
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

    Returns:
        None when kappa is defined in no resample.

    Raises:
        ValueError: when the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}")
    if not first:
        return None
    return bootstrap(
        len(first), lambda drawn: weighted_kappa([first[i] for i in drawn], [second[i] for i in drawn]), sampling
    )


def percent_agreement(units: Sequence[Unit]) -> float | None:
    """The share of agreeing pairs per unit, averaged over the units with two values; None when there are none."""
    shares = []
    for unit in units:
        size = len(unit)
        if size > 1:
            agreeing = sum(number * (number - 1) for number in Counter(unit).values())
            shares.append(agreeing / (size * (size - 1)))
    return fsum(shares) / len(shares) if shares else None


def label_agreement(
    judgments: Sequence[Judgment], sampling: Sampling = DEFAULT, *, without_variation: float | None = None
) -> tuple[LabelAgreement, ...]:
    """Return the agreement on every label of one task.

    A unit of the retrieval task is a query and a chunk.
    """
    by_unit = _by_unit(judgments)
    annotators = {name for votes in by_unit.values() for name in votes}
    rows = []
    for label in LABELS[judgments[0].task] if judgments else ():
        units = [[judgment.labels[label] for judgment in votes.values()] for votes in by_unit.values()]
        rows.append(
            LabelAgreement(
                label=label,
                alpha=krippendorff_alpha(units, without_variation=without_variation),
                interval=alpha_interval(units, sampling, without_variation=without_variation),
                percent=percent_agreement(units),
                items=sum(len(unit) > 1 for unit in units),
                annotators=len(annotators),
            )
        )
    return tuple(rows)


def pair_agreement(judgments: Sequence[Judgment]) -> tuple[PairAgreement, ...]:
    """Return Cohen's kappa for every two annotators of one task who judged a unit in common, by name."""
    by_unit = _by_unit(judgments)
    names = sorted({name for votes in by_unit.values() for name in votes})
    pairs = []
    for first, second in combinations(names, 2):
        shared = [(votes[first], votes[second]) for votes in by_unit.values() if first in votes and second in votes]
        if shared:
            kappas = {
                label: cohen_kappa([a.labels[label] for a, _ in shared], [b.labels[label] for _, b in shared])
                for label in LABELS[judgments[0].task]
            }
            defined = [kappa for kappa in kappas.values() if kappa is not None]
            mean = fsum(defined) / len(defined) if defined else None
            pairs.append(PairAgreement(first=first, second=second, shared=len(shared), kappas=kappas, mean=mean))
    return tuple(pairs)


def _by_unit(judgments: Sequence[Judgment]) -> Mapping[tuple[str, ...], Mapping[str, Judgment]]:
    by_unit: dict[tuple[str, ...], dict[str, Judgment]] = {}
    for judgment in judgments:
        if judgment.annotator is None:
            raise UsageError(
                f"{judgment.place}: no annotator_id, so agreement cannot be computed",
                hint="Agreement needs the annotation export: one row per annotator, with an annotator_id column.",
            )
        votes = by_unit.setdefault(judgment.unit, {})
        other = votes.setdefault(judgment.annotator, judgment)
        if other is not judgment:
            raise UsageError(
                f"{judgment.place}: {quoted(judgment.annotator)} judged this already at {cut(other.place)}",
                hint="Keep one row per annotator and unit.",
            )
    return by_unit
