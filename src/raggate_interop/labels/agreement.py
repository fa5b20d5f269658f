"""Agreement between annotators by label and by pair, and how two sides compare query by query.

Cohen's kappa as in J. Cohen, *A coefficient of agreement for nominal scales* (1960).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from math import fsum

from raggate.base.errors import UsageError
from raggate.base.quote import cut, quoted
from raggate.models.judging import LABELS
from raggate.scoring.agreement import Unit, alpha_of_counts, krippendorff_alpha, percent_agreement
from raggate.scoring.intervals import DEFAULT, Interval, Sampling, bootstrap, check_level
from raggate_interop.labels.models import Judgment, LabelAgreement, PairAgreement


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
    return bootstrap(
        len(counts), lambda drawn: alpha_of_counts([counts[index] for index in drawn], without_variation), sampling
    )


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators over the same units, in the same order.

    Formula: (p_o - p_e) / (1 - p_e), p_o the share of units with equal values, p_e the sum over values of the product
    of the two annotators' shares.

    Returns:
        None for no units, and when chance alone would make both agree always (p_e = 1).
    """
    n = len(first)
    if n != len(second):
        raise ValueError(f"{n} values against {len(second)}")
    ours, theirs = Counter(first), Counter(second)
    # whole numbers throughout, so that p_e = 1 is exact
    chance = sum(number * theirs[value] for value, number in ours.items())
    if n == 0 or chance == n * n:
        return None
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    return (n * equal - chance) / (n * n - chance)


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
                f"{judgment.place}: no annotator_id, which agreement needs",
                hint="Use the annotation export: one row per annotator, with a column annotator_id.",
            )
        votes = by_unit.setdefault(judgment.unit, {})
        other = votes.setdefault(judgment.annotator, judgment)
        if other is not judgment:
            raise UsageError(
                f"{judgment.place}: {quoted(judgment.annotator)} judged this already at {cut(other.place)}",
                hint="Keep one row per annotator and unit.",
            )
    return by_unit


def bootstrap_mean(values: Sequence[float], sampling: Sampling = DEFAULT) -> Interval | None:
    """Return the percentile bootstrap interval of a mean, which one value has none of; see `bootstrap`."""
    n = len(values)
    constant = n > 1 and min(values) == max(values)
    if constant:
        # every resample has the same mean; adding and dividing would only blur it
        check_level(sampling.level)
        return Interval(values[0], values[0])
    return bootstrap(n, lambda drawn: fsum(map(values.__getitem__, drawn)) / n, sampling)


def paired(current: Mapping[str, float | None], baseline: Mapping[str, float | None]) -> dict[str, float]:
    """Return current minus baseline for each query that has a value on both sides, in order of the queries' names."""
    return {
        query: value - other
        for query, value in sorted(current.items())
        if value is not None and (other := baseline.get(query)) is not None
    }
