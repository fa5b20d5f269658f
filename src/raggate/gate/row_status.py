"""One row of a comparison x the policy -> its status. Pure."""

from __future__ import annotations

from raggate.config.gate_settings import Gate, Rule
from raggate.gate import completeness
from raggate.models.comparison import Delta
from raggate.models.scorecard import EPSILON, OVERALL, improvement
from raggate.models.verdict import GatedMetric, Status


def classify_row(delta: Delta, gate: Gate) -> GatedMetric:
    """Say what the policy makes of one row. Slices other than overall share the metric's tolerance, not its floor.

    A row without a value in the baseline and without a floor is not gated, whatever the rules: nothing can be decided.
    """
    rule = gate.rule(delta.metric)
    overall = delta.slice == OVERALL
    floor = rule.limit(delta.current.direction) if rule is not None and overall else None
    known = completeness.before(delta)
    others, relabelled = (delta.uncompared.n, delta.uncompared.relabelled) if delta.uncompared is not None else (0, 0)
    enough = known > 0 if overall else gate.slices != "off" and known + relabelled >= gate.min_cases
    # a change of which nothing can be said is judged by limits alone
    enough = (enough and (delta.delta is not None or not delta.current.n)) or (overall and others > 0)
    if rule is None or not (enough or (floor is not None and delta.run_value.n > 0)):
        status = _ungated_status(delta, wanted=rule is not None and overall)
        return GatedMetric(delta=delta, status=status, allowed=None, floor=floor, gated=False)
    status = _status(delta, rule, floor)
    # a limit is for all cases already, and what has vanished is told as that
    proven = delta.uncompared.proven if delta.uncompared is not None else 0.0
    by_others = status not in {"worse", "below floor", "vanished"} and proven > (rule.tolerance or 0.0) + EPSILON
    return GatedMetric(
        delta=delta,
        status="worse" if by_others else status,
        allowed=rule.tolerance,
        floor=floor,
        gated=True,
        by_others=by_others,
    )


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
