"""One row of a comparison: which status follows from its values and the policy, and by what it was judged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from builders import make_delta, make_metric
from gate_rows import CEILING, DELTAS, FLOOR, GATES, PLAIN, SAME, WORSE, emptied, rate, slice_delta
from raggate.config.gate_settings import Gate, Rule
from raggate.gate.row_status import classify_row
from raggate.models.comparison import Delta
from tables import each_row


def _floor(value: float) -> Gate:
    return Gate(metrics={"hit_at_5": Rule(tolerance=0.5, floor=value)})


def _ceiling(value: float) -> Gate:
    return Gate(metrics={"wrong_rate": Rule(tolerance=0.5, ceiling=value)})


@each_row(
    ("delta", "gate", "status"),
    [
        pytest.param(make_delta(0.8, 0.8), PLAIN, "same", id="same"),
        pytest.param(make_delta(0.8, 0.8 - 1e-12), PLAIN, "same", id="same-but-for-float-noise"),
        pytest.param(make_delta(0.8, 0.9), PLAIN, "better", id="better"),
        pytest.param(make_delta(0.8, 0.78), PLAIN, "within", id="within"),
        pytest.param(make_delta(0.80, 0.75), PLAIN, "within", id="exactly-at-tolerance"),
        pytest.param(make_delta(0.80, 0.75 - 1e-10), PLAIN, "within", id="beyond-by-float-noise"),
        pytest.param(make_delta(0.80, 0.75 - 2e-9), PLAIN, "worse", id="beyond-by-more-than-1e-9"),
        pytest.param(make_delta(0.8, 0.7), PLAIN, "worse", id="worse"),
        pytest.param(make_delta(0.8, 0.7999), Gate(tolerance=0), "worse", id="no-tolerance-at-all"),
        pytest.param(rate(0.1, 0.2), PLAIN, "worse", id="rate-rises"),
        pytest.param(rate(0.10, 0.15), PLAIN, "within", id="rate-rises-exactly-to-tolerance"),
        pytest.param(rate(0.2, 0.1), PLAIN, "better", id="rate-falls"),
        pytest.param(make_delta(0.8, 0.74), FLOOR, "below floor", id="below-floor"),
        pytest.param(make_delta(0.8, 0.75), FLOOR, "within", id="exactly-at-floor"),
        pytest.param(make_delta(0.8, 0.75 - 9e-10), FLOOR, "within", id="below-floor-by-float-noise"),
        pytest.param(make_delta(0.8, 0.75 - 1.1e-9), FLOOR, "below floor", id="below-floor-by-more-than-1e-9"),
        pytest.param(make_delta(0.8, 0.75 + 9e-10), FLOOR, "within", id="above-floor-by-float-noise"),
        pytest.param(make_delta(0.8, 0.8), _floor(0.849), "below floor", id="0.049-below-floor"),
        pytest.param(make_delta(0.8, 0.8), _floor(0.801), "below floor", id="0.001-below-floor"),
        pytest.param(make_delta(0.8, 0.8), _floor(0.799), "same", id="0.001-above-floor"),
        pytest.param(rate(0.1, 1e-9), _ceiling(0.0), "better", id="above-ceiling-by-exactly-1e-9"),
        pytest.param(rate(0.1, 1.1e-9), _ceiling(0.0), "below floor", id="above-ceiling-by-more-than-1e-9"),
        pytest.param(make_delta(0.70, 0.74), FLOOR, "below floor", id="below-floor-though-better"),
        pytest.param(make_delta(None, 0.74), FLOOR, "below floor", id="floor-needs-no-baseline-value"),
        pytest.param(slice_delta(0.8, 0.74), FLOOR, "within", id="no-floor-for-slices"),
        pytest.param(rate(0.1, 0.26), CEILING, "below floor", id="above-ceiling"),
        pytest.param(rate(0.1, 0.25), CEILING, "within", id="exactly-at-ceiling"),
        pytest.param(
            make_delta(0.8, 0.8, full_run=make_metric(0.74, 20)), FLOOR, "below floor", id="below-over-all-cases"
        ),
        pytest.param(make_delta(0.8, 0.74, full_run=make_metric(0.75, 20)), FLOOR, "within", id="above-over-all-cases"),
        pytest.param(
            make_delta(0.8, None, full_run=make_metric(0.74, 20)), FLOOR, "vanished", id="below-but-not-compared"
        ),
        pytest.param(
            make_delta(None, None, full_run=make_metric(0.7, 5)), FLOOR, "below floor", id="below-in-added-cases"
        ),
        pytest.param(
            rate(0.1, 0.1, full_run=make_metric(0.26, direction="lower")), CEILING, "below floor", id="above-all"
        ),
        pytest.param(make_delta(0.8, float("nan")), PLAIN, "worse", id="nan-is-never-green"),
        pytest.param(make_delta(0.8, float("nan")), FLOOR, "below floor", id="nan-is-never-above-a-floor"),
        pytest.param(make_delta(0.8, 0.2, metric="ndcg_at_7"), PLAIN, "not gated", id="metric-without-rule"),
        pytest.param(WORSE, Gate(metrics={"hit_at_5": False}), "not gated", id="metric-switched-off"),
        pytest.param(make_delta(None, 0.9), PLAIN, "no baseline", id="nothing-in-the-baseline"),
        pytest.param(make_delta(None, None), FLOOR, "not gated", id="applies-to-no-case-on-either-side"),
        pytest.param(replace(SAME, current=make_metric(None, 0, unscored=9)), PLAIN, "vanished", id="vanished-metric"),
        pytest.param(emptied(metric="ndcg_at_7"), PLAIN, "vanished", id="vanished-mode-though-not-gated"),
        pytest.param(slice_delta(n=10), PLAIN, "worse", id="slice-large-enough"),
        pytest.param(slice_delta(n=9), PLAIN, "not gated", id="slice-too-small"),
        pytest.param(slice_delta(n=5, unpaired=5), PLAIN, "worse", id="slice-large-enough-in-the-baseline"),
        pytest.param(slice_delta(n=99), Gate(slices="off"), "not gated", id="slices-off"),
    ],
)
def test_status_of_a_row(delta: Delta, gate: Gate, status: str) -> None:
    """A row's status follows from its values, its direction and the rule, whatever else was measured."""
    assert classify_row(delta, gate).status == status


@each_row(
    ("metrics", "metric", "allowed"),
    [
        pytest.param({}, "hit_at_5", 0.07, id="the-gates-tolerance"),
        pytest.param({}, "scope_miss_rate", 0.07, id="rates-have-none-of-their-own"),
        pytest.param({"hit_at_5": 0.01}, "hit_at_5", 0.01, id="a-number"),
        pytest.param({"hit_at_5": Rule(tolerance=0.02)}, "hit_at_5", 0.02, id="a-rule"),
        pytest.param({"hit_at_5": Rule(floor=0.5)}, "hit_at_5", 0.07, id="a-rule-without-tolerance"),
        pytest.param({"hit_at_5": False}, "hit_at_5", None, id="off"),
    ],
)
def test_allowed_change(metrics: dict[str, Any], metric: str, allowed: float | None) -> None:
    """A row tells the tolerance it was judged by: its own, else the gate's, and none when it is not gated."""
    assert classify_row(make_delta(metric=metric), Gate(tolerance=0.07, metrics=metrics)).allowed == allowed


@given(DELTAS, GATES)
def test_better_is_never_worse(delta: Delta, gate: Gate) -> None:
    """A row that moved in its better direction, or not at all, is never worse than allowed."""
    sign = 1 if delta.current.direction == "higher" else -1
    if sign * (delta.delta or 0.0) >= 0:
        assert classify_row(delta, gate).status != "worse"
