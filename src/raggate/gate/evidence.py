"""A comparison and the policy -> whether the questions of each mode got worse, and what that could have shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from math import fsum

from raggate.gate.composite import ScoredPair, paired_scores
from raggate.gate.statistics.intervals import t_interval, tango
from raggate.gate.statistics.mcnemar import fewest_losses
from raggate.gate.statistics.paired import paired_test, unit_changes
from raggate.gate.statistics.power import visible_drop
from raggate.models.comparison import Comparison, Interval
from raggate.models.scorecard import EPSILON
from raggate.models.verdict import CompositeTest

ALPHA = 0.05
"""What is less likely by chance is red, if it is more than the margin."""

ALPHA_BEYOND_TOLERANCE = 0.10
"""What is less likely by chance is evidence for a tolerance that is exceeded."""

ALPHA_WARNING = 0.20
"""What is less likely by chance is a warning, if it is more than the margin."""

MARGIN = 0.02
"""A drop of at most this is no regression by itself, however certain it is."""


def composite_tests(
    comparison: Comparison, metrics: Mapping[str, Sequence[str]], left_out: AbstractSet[tuple[str, str]] = frozenset()
) -> tuple[CompositeTest, ...]:
    """Test every mode in which questions can be compared, once each.

    Args:
        comparison: what was compared.
        metrics: by mode, what a score is the mean of.
        left_out: mode and case id of the cases that a waiver leaves out.
    """
    modes = {mode: paired_scores(comparison, mode, names, left_out) for mode, names in metrics.items()}
    scored = {mode: pairs for mode, pairs in modes.items() if pairs}
    tests = [_composite_test(mode, metrics[mode], pairs, len(scored)) for mode, pairs in scored.items()]
    adjusted = holm([test.p for test in tests])
    return tuple(replace(test, adjusted=p) for test, p in zip(tests, adjusted, strict=True))


def _composite_test(mode: str, metrics: Sequence[str], pairs: Sequence[ScoredPair], tests: int) -> CompositeTest:
    scores = [(pair.before, pair.after) for pair in pairs]
    changes = [after - before for before, after in scores]
    groups = [pair.group for pair in pairs]
    result = paired_test(changes, groups)
    before, after = (fsum(side) / len(pairs) for side in zip(*scores, strict=True))
    return CompositeTest(
        mode=mode,
        metrics=tuple(metrics),
        cases=len(pairs),
        lost=sum(change < -EPSILON for change in changes),
        gained=sum(change > EPSILON for change in changes),
        units=result.units,
        before=before,
        after=after,
        drop=max(0.0, before - after, *(_drop(metric, pairs) for metric in metrics)),
        p=result.p,
        adjusted=result.p,
        test=result.test,
        visible_drop=visible_drop(result.units, _moving(unit_changes(changes, groups)), ALPHA / tests),
        fewest_losses=fewest_losses(result.units, ALPHA / tests),
        supports=fewest_losses(result.units, ALPHA_BEYOND_TOLERANCE / tests) is not None,
        fell={pair.case_id: pair.fell for pair in pairs if pair.after < pair.before - EPSILON},
    )


def metric_chance(
    comparison: Comparison, mode: str, metric: str, left_out: AbstractSet[tuple[str, str]] = frozenset()
) -> float:
    """Give how likely by chance alone one metric of a mode falls as it did, over the questions it applied to."""
    pairs = [pair for pair in paired_scores(comparison, mode, (metric,), left_out) if metric in pair.values]
    return paired_test([pair.after - pair.before for pair in pairs], [pair.group for pair in pairs]).p if pairs else 1.0


def change_interval(changes: Sequence[float], groups: Sequence[str | None], *, binary: bool) -> Interval | None:
    """Give the 95 % interval of a mean change; None where nothing can be said of its spread.

    Args:
        changes: after minus before, one for each question.
        groups: what each question belongs to; questions of one group move together.
        binary: whether every question scores 0 or 1, so that counts tell all.
    """
    lost, gained = (sum(sign * change > EPSILON for change in changes) for sign in (-1, 1))
    units = unit_changes(changes, groups) if len(set(filter(None, groups))) < len([*filter(None, groups)]) else changes
    if binary and changes and len(units) == len(changes):
        return _tango(len(changes), lost, gained)
    return t_interval(units) if lost or gained else None


# most rows of a comparison have the same few counts
_tango = lru_cache(maxsize=1024)(tango)


def _drop(metric: str, pairs: Sequence[ScoredPair]) -> float:
    falls = [was - now for pair in pairs if metric in pair.values for was, now in [pair.values[metric]]]
    return fsum(falls) / len(falls) if falls else 0.0


def _moving(changes: Sequence[float]) -> float:
    """Give the share of units that moves both ways alike, larger moves counting more: a loss has to stand out of it."""
    lost = fsum(change * change for change in changes if change < 0)
    gained = fsum(change * change for change in changes if change > 0)
    return min(1.0, 2 * min(lost, gained) / len(changes))


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust p-values for being several, so that they can be held to one level together.

    Source: Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    adjusted = [1.0] * len(chances)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(chances)), key=lambda number: chances[number])):
        largest = max(largest, min(1.0, (len(chances) - place) * chances[index]))
        adjusted[index] = largest
    return adjusted


def significant(p: float, drop: float) -> bool:
    """Say whether a loss is more than the margin and not by chance."""
    return p < ALPHA and drop > MARGIN + EPSILON


def supported(p: float, *, possible: bool) -> bool:
    """Say whether there is evidence for a tolerance that is exceeded; where none is possible, none is asked for."""
    return not possible or p < ALPHA_BEYOND_TOLERANCE
