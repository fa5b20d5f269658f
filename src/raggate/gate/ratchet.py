"""What was accepted of each metric that has a say -> whether small accepted drops have added up to a large one. Pure.

A drop within the tolerance passes the gate, and once it is promoted the next one is measured from there. So the
baseline keeps, beside the values of its run, the best value accepted and what has been given up since. Drops are
counted over the same questions, and over relabelled and added ones by what stands in for them. The best value is a mean
over the questions of its day; it becomes a worse one only when a person accepts that, and with a record of why: a loss,
or other questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.dates import day
from raggate.config.gate_settings import Gate, Rule
from raggate.models.baseline import AcceptedDrop, RatchetEntry
from raggate.models.comparison import Comparison, Delta, GoldenChanges
from raggate.models.metric_names import ABSTENTION_ACCURACY
from raggate.models.promotion import MetricChange
from raggate.models.scorecard import EPSILON, OVERALL, MetricValue, improvement
from raggate.models.verdict import GatedMetric


class Promotion(Struct, frozen=True, kw_only=True):
    """What a promotion says of itself: the day of the promoted run, and why and by whom it is accepted."""

    on: str
    reason: str = ""
    by: str = ""


class Creep(Struct, frozen=True, kw_only=True):
    """A metric whose accepted drops exceed its tolerance, together with this change's own. `total` is above 0.

    `adds` says whether this change drops the metric too.
    """

    row: GatedMetric
    total: float
    since: str
    adds: bool


def rule_of(metric: str, gate: Gate) -> Rule | None:
    """Return the rule that promotions hold a metric to: gated, or one that the test of all questions is made of."""
    tested = gate.policy != "threshold" and metric in {*gate.composite, ABSTENTION_ACCURACY}
    return gate.rule(metric) or (Rule(tolerance=gate.tolerance) if tested else None)


def creeping(
    rows: Sequence[GatedMetric], accepted: Mapping[str, Mapping[str, RatchetEntry]], gate: Gate
) -> Iterator[Creep]:
    """Find the metrics over all cases that crept beyond their tolerance without being worse by it at once."""
    for row in (_held(row, gate) for row in rows if row.delta.slice == OVERALL):
        delta = row.delta
        entry = accepted.get(delta.mode, {}).get(delta.metric)
        if entry is None or row.allowed is None or not row.gated or row.status == "worse":
            continue
        drop = _lost(delta)
        # what falls by that much at once, such as a value that is beyond its floor too, did not creep there
        if drop <= row.allowed + EPSILON < entry.drops + drop:
            proven = delta.uncompared.proven if delta.uncompared is not None else 0.0
            adds = max(-delta.gain, proven) > EPSILON
            yield Creep(row=row, total=entry.drops + drop, since=entry.since, adds=adds)


def _held(row: GatedMetric, gate: Gate) -> GatedMetric:
    rule = rule_of(row.delta.metric, gate) if gate.rule(row.delta.metric) is None else None
    compared = rule is not None and row.delta.delta is not None
    return replace(row, allowed=rule.tolerance, gated=True) if rule is not None and compared else row


def _lost(delta: Delta) -> float:
    return max(0.0, -delta.gain, delta.uncompared.drop if delta.uncompared is not None else 0.0)


def sinks(row: MetricChange, comparison: Comparison, gate: Gate) -> bool:
    """Return whether a promotion makes the mean worse by more than is tolerated, at once or with what was given up.

    Both means are over all cases of their day, so this sees what is lost among questions that are not the same.
    """
    mode, metric = row.change.mode, row.change.metric
    rule, entry = rule_of(metric, gate), _before(comparison, mode, metric)
    if rule is None or entry is None or not (_known(row.before) and _known(row.after)):
        return False
    value, lost = row.after.value or 0.0, _lost(row.change)
    falls = max(_behind(value, row.before.value or 0.0, row), lost)
    given = max(falls, entry.drops + lost, _behind(value, entry.best, row))
    return falls > EPSILON and given > (rule.tolerance or 0.0) + EPSILON


def advance(
    rows: Sequence[MetricChange], comparison: Comparison, gate: Gate, promotion: Promotion
) -> dict[str, dict[str, RatchetEntry]]:
    """Return what will have been accepted of every metric once the run is the baseline.

    Of one that has no say any more it stays as it was: it counts again when the metric does.
    """
    changed = _changes(comparison.golden)
    result = _resting(comparison, gate)
    for row in rows:
        mode, metric = row.change.mode, row.change.metric
        rule = rule_of(metric, gate)
        if rule is None or mode not in comparison.scorecard.slices:
            continue
        entry = _before(comparison, mode, metric)
        after = _step(entry, row, rule.tolerance or 0.0, promotion, changed)
        if after is not None:
            result.setdefault(mode, {})[metric] = after
    return result


def _resting(comparison: Comparison, gate: Gate) -> dict[str, dict[str, RatchetEntry]]:
    kept: dict[str, dict[str, RatchetEntry]] = {}
    for mode, metrics in (comparison.baseline.accepted if comparison.baseline is not None else {}).items():
        if resting := {metric: entry for metric, entry in metrics.items() if rule_of(metric, gate) is None}:
            kept[mode] = resting
    return kept


def _before(comparison: Comparison, mode: str, metric: str) -> RatchetEntry | None:
    baseline = comparison.baseline
    if baseline is None:
        return None
    kept = baseline.accepted.get(mode, {}).get(metric)
    if kept is not None:
        return kept
    stored = baseline.scorecard.slices.get(mode, {}).get(OVERALL, {}).get(metric)
    if stored is None or not _known(stored):
        return None
    return RatchetEntry(best=stored.value or 0.0, drops=0.0, since=day(baseline.provenance.get("measured")) or "")


def _step(
    entry: RatchetEntry | None, row: MetricChange, tolerance: float, promotion: Promotion, changed: str
) -> RatchetEntry | None:
    if row.vanished or not _known(row.after):
        # it applies to no case any more, or to others: what was accepted stays until it is measured again
        return entry
    value = row.after.value or 0.0
    if entry is None:
        return RatchetEntry(best=value, drops=0.0, since=promotion.on)
    if not isfinite(row.gain):
        return entry
    lost = _lost(row.change) if row.shared else -row.gain
    # what is not of the same questions is no small drop that could be added up, so it is recorded whatever its size
    if lost > EPSILON + (tolerance if row.shared else 0.0):
        # both ends are over the same cases where such decided, and else the means
        by_shared = lost <= -row.gain + EPSILON
        ends = (row.change.baseline, row.change.current) if by_shared else (row.before, row.after)
        before, after = (end.value or 0.0 for end in ends)
        low = AcceptedDrop(on=promotion.on, before=before, after=after, reason=promotion.reason, by=promotion.by)
        return RatchetEntry(best=value, drops=0.0, since=promotion.on, lowered=low)
    if not row.shared:
        # nor does it show that anything was won back, unless the value is the best there was
        return entry if _behind(value, entry.best, row) > EPSILON else _begun(entry, row, promotion, changed)
    if lost > EPSILON:
        return replace(entry, drops=entry.drops + lost)
    # noise of floats is no gain: promoting one run twice must change nothing
    left = entry.drops - (row.gain if row.gain > EPSILON else 0.0)
    if left > EPSILON:
        return replace(entry, drops=left)
    # a best value that nobody was asked about stays what everything later is measured by
    best_stays = _behind(value, entry.best, row) > EPSILON and not row.sunk
    return replace(entry, drops=0.0) if best_stays else _begun(entry, row, promotion, changed)


def _begun(entry: RatchetEntry, row: MetricChange, promotion: Promotion, changed: str) -> RatchetEntry:
    """Begin at the new value; where that is worse than what was accepted, other questions are why, and it is said."""
    value, lowered = row.after.value or 0.0, entry.lowered
    if _behind(value, entry.best, row) > EPSILON:
        lowered = AcceptedDrop(on=promotion.on, before=entry.best, after=value, reason=changed, by=promotion.by)
    return RatchetEntry(best=value, drops=0.0, since=promotion.on, lowered=lowered)


def _changes(golden: GoldenChanges) -> str:
    counts = {"added": golden.added, "removed": golden.removed, "changed": golden.relabelled}
    parts = ", ".join(f"{len(names)} {word}" for word, names in counts.items() if names)
    return f"other questions: {parts}" if parts else "other questions"


def _behind(value: float, than: float, row: MetricChange) -> float:
    return improvement(row.after.direction, value, than)


def _known(value: MetricValue) -> bool:
    return value.value is not None and value.n > 0 and isfinite(value.value)
