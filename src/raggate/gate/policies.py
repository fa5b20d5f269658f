"""What a tolerance that is exceeded, and what a test shows, make of a run under `gate.policy`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet

from msgspec.structs import replace

from raggate.base.numbers import chance, points
from raggate.config.gate_settings import DEFAULT_TOLERANCE, POINTS_TOLERANCE, Gate, Rule
from raggate.config.judge_settings import IN_POINTS
from raggate.gate import completeness, judge_advice, wording
from raggate.gate.evidence import (
    ALPHA,
    ALPHA_WARNING,
    GROSS_QUESTIONS,
    GROSS_TIMES,
    MARGIN,
    composite_tests,
    harmless_red,
    large,
    metric_chances,
    significant,
    supported,
)
from raggate.gate.waivers import excused, for_metric
from raggate.models.comparison import Comparison, Delta
from raggate.models.judging import highest
from raggate.models.metric_names import family
from raggate.models.scorecard import EPSILON, OVERALL, improvement
from raggate.models.verdict import CompositeEvidence, CompositeTest, GatedMetric, Reason, Status, Unproven
from raggate.models.waiver import WaiverStatus

Metric = tuple[str, str]
"""A metric by its mode and name."""


def classify_row(delta: Delta, gate: Gate) -> GatedMetric:
    """Return what the policy makes of one row. Slices other than overall share the metric's tolerance, not its floor.

    A row without a value in the baseline and without a floor is not gated, whatever the rules: nothing can be decided.
    """
    rule = gate.rule(delta.metric)
    overall = delta.slice == OVERALL
    floor = rule.limit(delta.current.direction) if rule is not None and overall else None
    known = completeness.before(delta)
    others, relabelled = (delta.uncompared.n, delta.uncompared.relabelled) if delta.uncompared is not None else (0, 0)
    enough = known > 0 if overall else gate.slices != "off" and known + relabelled >= gate.min_cases
    # without a difference only the limits decide
    enough = (enough and (delta.delta is not None or not delta.current.n)) or (overall and others > 0)
    if rule is None or not (enough or (floor is not None and delta.run_value.n > 0)):
        status = _ungated_status(delta, wanted=rule is not None and overall)
        return GatedMetric(delta=delta, status=status, allowed=None, floor=floor, gated=False)
    status = _status(delta, rule, floor)
    # a limit covers all cases already, and a vanished metric has its own reason
    proven = delta.uncompared.proven if delta.uncompared is not None else 0.0
    by_others = status not in {"worse", "below floor", "vanished"} and proven > (rule.tolerance or 0.0) + EPSILON
    status = "worse" if by_others else status
    return GatedMetric(delta=delta, status=status, allowed=rule.tolerance, floor=floor, gated=True, by_others=by_others)


def _status(delta: Delta, rule: Rule, floor: float | None) -> Status:
    if delta.baseline.n and not delta.current.n:
        return "vanished"
    # a limit holds for all the run asked, whatever could be compared
    value = delta.run_value.value
    direction = delta.current.direction
    # written so that a NaN, which no comparison is true of, ends up as bad
    if floor is not None and value is not None and not improvement(direction, floor, value) >= -EPSILON:
        return "below floor"
    if delta.gain > EPSILON:
        return "better"
    if delta.gain >= -EPSILON:
        return "same"
    return "within" if delta.gain >= -((rule.tolerance or 0.0) + EPSILON) else "worse"


def _ungated_status(delta: Delta, *, wanted: bool) -> Status:
    if wanted and delta.run_value.n and not delta.baseline.n:
        return "no baseline"
    return "vanished" if completeness.emptied(delta) else "not gated"


def composites(
    comparison: Comparison, gate: Gate, waived: Sequence[WaiverStatus], *, whole: bool = False
) -> tuple[CompositeTest, ...]:
    """Test the composite of every mode, without what is waived."""
    metrics = {
        mode: [name for name in gate.composite if whole or for_metric(waived, name, mode) is None]
        for mode in comparison.scorecard.slices
    }
    return composite_tests(comparison, metrics, excused(waived, comparison.scorecard), gate)


def classified(
    comparison: Comparison, gate: Gate, waived: Sequence[WaiverStatus]
) -> tuple[tuple[GatedMetric, ...], CompositeEvidence]:
    """Return what the policy makes of every row of a comparison, and what the composite of each mode shows."""
    tests = composites(comparison, gate, waived)
    left_out = excused(waived, comparison.scorecard)
    graded = judge_advice.advisory(
        [classify_row(delta, gate) for delta in comparison.deltas], judge_advice.unfit(comparison)
    )
    rows = with_evidence(graded, comparison, gate, tests, left_out)
    often = max((harmless_red(test.units, gate.policy) for test in tests), default=0.0)
    evidence = CompositeEvidence(policy=gate.policy, tests=tests, harmless_red=often)
    return tuple(_excuse(row, gate, waived) for row in rows), evidence


def _excuse(row: GatedMetric, gate: Gate, waived: Sequence[WaiverStatus]) -> GatedMetric:
    if not row.decides(gate) or row.status not in {"worse", "below floor"}:
        return row
    return replace(row, waived=for_metric(waived, row.delta.metric, row.delta.mode) is not None)


def with_evidence(
    rows: Sequence[GatedMetric],
    comparison: Comparison,
    gate: Gate,
    tests: Sequence[CompositeTest],
    left_out: AbstractSet[tuple[str, str]] = frozenset(),
) -> tuple[GatedMetric, ...]:
    """Mark the rows that are worse and only warn: too few questions to judge them by, or evidence that is missing.

    How many questions a metric has is counted in the baseline, so that no change makes a metric small.
    """
    gated = [row for row in rows if row.gated and row.delta.slice == OVERALL]
    sizes = {_metric(row): _size(row, comparison) for row in gated}
    over = {_metric(row) for row in rows if _exceeds(row)} - {
        _metric(row) for row in gated if gross(row) or _lost_whole(row)
    }
    unsupported = set() if small_suite(sizes, gate) else {test.mode for test in tests if not supported(test)}
    excuses: dict[Metric, Unproven] = {}
    if gate.policy != "threshold":
        excuses.update((metric, "no evidence") for metric in over if metric[0] in unsupported)
        excuses.update((metric, "few cases") for metric in over & small_metrics(sizes, gate))
    # the composite does not see a metric that is no part of it, and gains of others can cover one that is
    names: dict[str, list[str]] = {}
    for row in gated if excuses else ():
        names.setdefault(row.delta.mode, []).append(row.delta.metric)
    alone = metric_chances(comparison, names, left_out)
    proven = {metric: alone[metric] for metric in excuses if alone.get(metric, 1.0) < ALPHA}
    left = {metric: excuse for metric, excuse in excuses.items() if metric not in proven}
    return tuple(
        replace(row, unproven=left.get(_metric(row), ""), own_p=proven.get(_metric(row))) if _exceeds(row) else row
        for row in rows
    )


def small_metrics(sizes: Mapping[Metric, int], gate: Gate) -> frozenset[Metric]:
    """Return the gated metrics, by mode, that apply to too few questions to be judged alone.

    If the metrics of the composite do too, there are none: a small suite has a gate.
    """
    few = frozenset(key for key, size in sizes.items() if size < gate.min_cases)
    return frozenset() if _composed(sizes, gate) <= few else few


def small_suite(sizes: Mapping[Metric, int], gate: Gate) -> bool:
    """Return whether a suite is so small that tolerances decide alone; see `small_metrics`."""
    composed = _composed(sizes, gate)
    return bool(composed) and max(sizes[metric] for metric in composed) < gate.min_cases


def _composed(sizes: Mapping[Metric, int], gate: Gate) -> frozenset[Metric]:
    """Return the metrics that tell how large a suite is: some others cover questions without an answer too."""
    families = {family(name) for name in gate.composite}
    return frozenset((mode, name) for mode, name in sizes if family(name) in families)


def _metric(row: GatedMetric) -> Metric:
    return row.delta.mode, row.delta.metric


def _lost_whole(row: GatedMetric) -> bool:
    current = row.delta.current
    worst = 0.0 if current.direction == "higher" else highest(row.delta.metric)
    return (row.delta.regressed or 0) > 1 and current.value is not None and abs(current.value - worst) <= EPSILON


def gross(row: GatedMetric) -> bool:
    """Return whether a loss is one that nobody would wave through; a group that is lost is one unit of a test."""
    delta = row.delta
    usual = POINTS_TOLERANCE if delta.metric in IN_POINTS else DEFAULT_TOLERANCE
    beyond = -delta.gain > GROSS_TIMES * max(row.allowed or 0.0, usual) + EPSILON
    return beyond and (delta.regressed or 0) - (delta.improved or 0) >= GROSS_QUESTIONS


def _exceeds(row: GatedMetric) -> bool:
    # what cases that could not be compared prove is proven by a test of its own
    return row.gated and row.status == "worse" and not row.by_others


def _size(row: GatedMetric, comparison: Comparison) -> int:
    stored = comparison.baseline.scorecard.slices if comparison.baseline is not None else {}
    mean = stored.get(row.delta.mode, {}).get(OVERALL, {}).get(row.delta.metric)
    return max(mean.n if mean is not None else 0, completeness.before(row.delta))


def unproven_reason(row: GatedMetric, gate: Gate, tests: Sequence[CompositeTest]) -> Reason:
    """Return that a metric is worse than allowed, and why that is no more than a warning."""
    if row.unproven == "few cases":
        return Reason.of_row("few-cases", wording.few_cases(row, gate.min_cases), row.delta)
    p = next(test.adjusted for test in tests if test.mode == row.delta.mode)
    odds = f"{wording.odds(p)} ({chance(p)} for all questions together)"
    return Reason.of_row("no-evidence", f"{wording.change(row)}, which may be chance: {odds}", row.delta)


def red(test: CompositeTest, gate: Gate) -> bool:
    """Return whether what a test shows is red by itself."""
    return gate.policy != "threshold" and significant(test.adjusted, test.drop)


def composite_reason(test: CompositeTest) -> Reason:
    """Return what a test shows."""
    return Reason("composite-worse", wording.composite(test), mode=test.mode)


def large_losses(tests: Sequence[CompositeTest], red_modes: frozenset[str]) -> Iterator[Reason]:
    """Return the modes where nothing is red and the loss is larger than what is usually seen."""
    for test in tests:
        if large(test) and test.mode not in red_modes:
            yield Reason("large-loss", wording.large_loss(test), mode=test.mode)


def suspicions(tests: Sequence[CompositeTest], explained: frozenset[str]) -> Iterator[Reason]:
    """Return of the modes that no reason explains already where a loss is likely, or is certain and small."""
    for test in tests:
        if test.mode in explained:
            continue
        if test.adjusted < ALPHA_WARNING and test.drop > MARGIN + EPSILON:
            yield Reason("perhaps-worse", f"perhaps worse: {wording.composite(test)}", mode=test.mode)
        elif test.adjusted < ALPHA:
            message = f"worse by at most {points(MARGIN)}, but beyond chance: {wording.composite(test)}"
            yield Reason("perhaps-worse", message, mode=test.mode)
