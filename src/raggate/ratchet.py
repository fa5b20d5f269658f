"""What was accepted of each gated metric -> whether small accepted drops have added up to a large one. Pure.

A drop within the tolerance passes the gate, and once it is promoted the next one is measured from there. So the
baseline keeps, beside the values of its run, the best value ever accepted and what has been given up since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from raggate.config import Gate
from raggate.dates import day
from raggate.outcomes import EPSILON, OVERALL, Accepted, Comparison, Delta, Judged, Lowered, MetricValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """What a promotion says of itself: the day of the promoted run, and why and by whom it is accepted."""

    on: str
    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creep:
    """A metric whose accepted drops exceed its tolerance, together with this change's own. `total` is above 0.

    `adds` says whether this change drops the metric too.
    """

    row: Judged
    total: float
    since: str
    adds: bool


def creeping(rows: Sequence[Judged], accepted: Mapping[str, Mapping[str, Accepted]]) -> Iterator[Creep]:
    """Find the gated metrics over all cases that crept beyond their tolerance without being worse by it at once."""
    for row in rows:
        delta = row.delta
        entry = accepted.get(delta.mode, {}).get(delta.metric)
        if entry is None or row.allowed is None or not row.gated or delta.slice != OVERALL or row.status == "worse":
            continue
        drop = max(0.0, -gain(delta) if delta.delta is not None else 0.0)
        if entry.drops + drop > row.allowed + EPSILON:
            yield Creep(row=row, total=entry.drops + drop, since=entry.since, adds=drop > EPSILON)


def gain(delta: Delta) -> float:
    """Say by how much a row got better, negative when it got worse; 0 where that is not known."""
    return (1 if delta.current.direction == "higher" else -1) * (delta.delta or 0.0)


def advance(comparison: Comparison, gate: Gate, promotion: Promotion) -> dict[str, dict[str, Accepted]]:
    """Say what will have been accepted of every gated metric once the run is the baseline.

    Args:
        comparison: the run to promote, held against the present baseline without waivers. Without a baseline, or
            with one that must not be compared, everything starts.
        gate: the policy, for what is gated and tolerated.
        promotion: the day, the reason and the name that an accepted lower value is recorded with.
    """
    deltas = {(row.mode, row.metric): row for row in comparison.deltas if row.slice == OVERALL}
    result: dict[str, dict[str, Accepted]] = {}
    for mode, slices in comparison.scorecard.slices.items():
        for metric, value in slices.get(OVERALL, {}).items():
            rule = gate.rule(metric)
            if rule is None:
                continue
            entry = _before(comparison, mode, metric)
            after = _step(entry, value, deltas.get((mode, metric)), rule.tolerance or 0.0, promotion)
            if after is not None:
                result.setdefault(mode, {})[metric] = after
    return result


def _before(comparison: Comparison, mode: str, metric: str) -> Accepted | None:
    """Give what is accepted so far; the baseline's own value where it keeps nothing yet."""
    baseline = comparison.baseline
    if baseline is None or comparison.incomparable:
        return None
    kept = baseline.accepted.get(mode, {}).get(metric)
    if kept is not None:
        return kept
    stored = baseline.scorecard.slices.get(mode, {}).get(OVERALL, {}).get(metric)
    if stored is None or not _known(stored):
        return None
    return Accepted(best=stored.value or 0.0, drops=0.0, since=day(baseline.provenance.get("measured")) or "")


def _step(
    entry: Accepted | None, now: MetricValue, delta: Delta | None, tolerance: float, promotion: Promotion
) -> Accepted | None:
    if not _known(now):
        # it applies to no case any more: what was accepted stays until it is measured again
        return entry
    value = now.value or 0.0
    if entry is None:
        return Accepted(best=value, drops=0.0, since=promotion.on)
    if delta is None or delta.delta is None or not isfinite(delta.delta):
        return entry
    change = gain(delta)
    if change < -(tolerance + EPSILON):
        lowered = Lowered(
            on=promotion.on, before=_value(delta.baseline), after=value, reason=promotion.reason, by=promotion.by
        )
        return Accepted(best=value, drops=0.0, since=promotion.on, lowered=lowered)
    if change < -EPSILON:
        return replace(entry, drops=entry.drops - change)
    # noise of floats is no gain: promoting one run twice must change nothing
    left = entry.drops - (change if change > EPSILON else 0.0)
    if left <= EPSILON:
        return replace(entry, best=value, drops=0.0, since=promotion.on)
    return replace(entry, drops=left)


def _known(value: MetricValue) -> bool:
    return value.value is not None and value.n > 0 and isfinite(value.value)


def _value(side: MetricValue) -> float:
    return side.value or 0.0
