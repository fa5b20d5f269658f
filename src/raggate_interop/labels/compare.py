"""Two joined runs -> paired deltas per metric with intervals, and whether each is worse than allowed."""

from __future__ import annotations

from math import fsum

from raggate.labels.intervals import DEFAULT, Sampling, bootstrap_mean, paired
from raggate.labels.models import Interval, Joined, LabelDelta, LabelStatus
from raggate.models.scorecard import EPSILON, oriented
from raggate_interop.labels.metrics import LABEL_METRICS

TOLERANCE = 0.05

MIN_PAIRS = 10
"""With fewer paired queries no interval is believed, and the tolerance decides alone."""


def compare(
    current: Joined, baseline: Joined, *, tolerance: float = TOLERANCE, sampling: Sampling = DEFAULT
) -> tuple[LabelDelta, ...]:
    """Compare two runs that were joined with the same labels, metric by metric, over the queries both have.

    A metric is `worse` when its paired mean is worse by more than the tolerance and, from `MIN_PAIRS` queries on, the
    whole bootstrap interval of the difference lies on the worse side of zero. `maybe worse` is beyond the tolerance
    with an interval that reaches zero, `slightly worse` the other way round. `vanished` means that the baseline has a
    value and no query can be paired.

    Args:
        tolerance: how much worse a mean may get, on the scale of the metric.
    """
    return tuple(_delta(name, current, baseline, tolerance, sampling) for name in current.values)


def _delta(name: str, current: Joined, baseline: Joined, tolerance: float, sampling: Sampling) -> LabelDelta:
    ours, theirs = current.values[name], baseline.values.get(name, {})
    differences = paired(ours, theirs)
    n = len(differences)
    if not n:
        had = any(value is not None for value in theirs.values())
        status: LabelStatus = "vanished" if had else "same"
        return LabelDelta(metric=name, baseline=None, current=None, delta=None, interval=None, n=0, status=status)
    interval = bootstrap_mean(tuple(differences.values()), sampling)
    delta = fsum(differences.values()) / n
    return LabelDelta(
        metric=name,
        baseline=fsum(theirs[query] or 0.0 for query in differences) / n,
        current=fsum(ours[query] or 0.0 for query in differences) / n,
        delta=delta,
        interval=interval,
        n=n,
        status=_status(name, delta, interval, n, tolerance),
    )


def _status(name: str, delta: float, interval: Interval | None, n: int, tolerance: float) -> LabelStatus:
    direction = LABEL_METRICS[name].direction
    worse = -oriented(direction, delta)
    # the ends of the interval, the one nearest to getting better first; one query has none but its own difference
    ends = (delta, delta) if interval is None else (interval.lower, interval.upper)
    least, most = sorted(-oriented(direction, end) for end in ends)
    if worse > tolerance + EPSILON:
        return "worse" if n < MIN_PAIRS or least > EPSILON else "maybe worse"
    if least > EPSILON:
        return "slightly worse"
    return "better" if most < -EPSILON else "same"
