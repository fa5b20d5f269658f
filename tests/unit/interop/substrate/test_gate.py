"""substrate's gate: what regresses, what only looks like it, and what has vanished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raggate.base.errors import ExitCode
from raggate_interop.substrate import gate
from raggate_interop.substrate.gate import Policy
from tables import each_row


def table(mode: str = "bm25", name: str = "easy", **metrics: float | None) -> dict[str, dict[str, dict[str, Any]]]:
    """Build a table of one bucket."""
    return {mode: {name: {"count": 12, **metrics}}}


EASY: dict[str, Any] = {"bm25": {"easy": {"hit": 1}}}


def status(metric: str, before: float, now: float, policy: Policy | None = None) -> str:
    """Return what the gate says of one metric."""
    (row,) = gate.compare(table(**{metric: before}), table(**{metric: now}), policy).rows
    return row.status


@each_row(
    ("metric", "before", "now", "policy", "expected"),
    [
        pytest.param("hit_at_1", 0.80, 0.75, None, "OK", id="exactly the threshold, in spite of float error"),
        pytest.param("hit_at_1", 0.80, 0.7499, None, "REGRESSED", id="beyond it"),
        pytest.param("hit_at_1", 0.75, 0.80, None, "OK", id="better by the threshold"),
        pytest.param("hit_at_1", 0.75, 0.81, None, "IMPROVED", id="better by more"),
        pytest.param("heading_dominance_rate", 0.1, 0.6, None, "REGRESSED", id="less is better"),
        pytest.param("heading_dominance_rate", 0.6, 0.1, None, "IMPROVED", id="less is better, and is less"),
        pytest.param("heading_only_hit_rate_at_5", 0.1, 0.6, None, "REGRESSED", id="with a cut-off"),
        pytest.param("duplicate_doc_rate", 0.1, 0.3, None, "REGRESSED", id="duplicates"),
        pytest.param("diversity_rate", 0.3, 0.1, None, "REGRESSED", id="diversity"),
        pytest.param("hit_at_1", 0.80, 0.76, Policy(thresholds={"hit_at_1": 0.03}), "REGRESSED", id="own threshold"),
        pytest.param("mrr_at_10", 0.80, 0.76, Policy(thresholds={"hit_at_1": 0.03}), "OK", id="another's threshold"),
        pytest.param("hit_at_1", 0.80, 0.79, Policy(strict=True), "REGRESSED", id="strict"),
        pytest.param("hit_at_1", 0.1 + 0.2, 0.3, Policy(strict=True), "OK", id="strict, in spite of float error"),
        pytest.param("scope_miss_rate", 0.1, 0.9, None, "REGRESSED", id="less is better, of raggate's own"),
        pytest.param("x", 0.1, 0.9, None, "IMPROVED", id="unknown to raggate, so more is better"),
        pytest.param("hit_at_1", 0.80, 0.75, Policy(as_written=True), "REGRESSED", id="as written, float error"),
        pytest.param(
            "heading_dominance_rate", 0.1, 0.6, Policy(as_written=True), "IMPROVED", id="as written, no directions"
        ),
        pytest.param("hit_at_1", 0.9, 0.1, Policy(min_count=13), "TOO FEW", id="a bucket that is too small"),
    ],
)
def test_status(metric: str, before: float, now: float, policy: Policy | None, expected: str) -> None:
    """A metric regresses when it gets worse, in its own direction, by more than its threshold."""
    assert status(metric, before, now, policy) == expected


@each_row(
    ("before", "now", "vanished"),
    [
        pytest.param({**table(hit=1), **table("vector", hit=1)}, table(hit=1), ("vector",), id="a mode"),
        pytest.param({"bm25": {"easy": {"hit": 1}, "hard": {"hit": 1}}}, EASY, ("bm25/hard",), id="a bucket"),
        pytest.param({"bm25": {**EASY["bm25"], "overall": {"hit": 1}}}, EASY, ("bm25/overall",), id="overall"),
        pytest.param(table(hit=1), EASY, ("bm25/easy/count",), id="a count"),
        pytest.param(table(hit=1), table(hit=1, count=None), ("bm25/easy/count",), id="a count that is null now"),
        pytest.param(table(hit=1, mrr=1), table(hit=1), ("bm25/easy/mrr",), id="a metric"),
        pytest.param(table(hit=1, mrr=1), table(hit=1, mrr=None), ("bm25/easy/mrr",), id="a metric that is null now"),
    ],
)
def test_vanished(before: dict[str, Any], now: dict[str, Any], vanished: tuple[str, ...]) -> None:
    """What only the baseline has fails as incomplete, unless it may vanish; what only the run has does not."""
    comparison = gate.compare(before, now)
    assert comparison.vanished == vanished
    assert comparison.exit_code is ExitCode.CANNOT_TELL
    assert gate.compare(before, now, Policy(vanished=False)).exit_code is ExitCode.PASS
    assert gate.compare(before, now, Policy(as_written=True)).exit_code is ExitCode.PASS
    back = gate.compare(now, before)
    assert (back.exit_code, back.added) == (ExitCode.PASS, vanished)


@each_row(
    ("before", "now", "policy", "code"),
    [
        pytest.param(table(hit=1, mrr=None), table(hit=1), None, 0, id="null in the baseline is not missed"),
        pytest.param(table(hit=1), table(hit=1, count=11), None, 3, id="fewer queries"),
        pytest.param(table(hit=1), table("hybrid", hit=1), Policy(vanished=False), 3, id="nothing in common"),
        pytest.param(table(hit=1), table("hybrid", hit=1), Policy(as_written=True), 0, id="which their script passes"),
        pytest.param(table(hit=1), table(hit=0), Policy(min_count=100), 3, id="every bucket is too small"),
        pytest.param(table(hit=1, mrr=1), table(hit=0), None, 1, id="worse goes before incomplete"),
    ],
)
def test_what_is_not_green(before: dict[str, Any], now: dict[str, Any], policy: Policy | None, code: int) -> None:
    """What was not measured as before, or could not be judged, is incomplete and never green."""
    assert gate.compare(before, now, policy).exit_code == code


def test_fewer_queries_are_named() -> None:
    """A bucket of fewer queries than the baseline's is named with both numbers."""
    comparison = gate.compare(table(hit=1), table(hit=1, count=11))
    assert comparison.shrunk == ("bm25/easy: 11 queries, 12 in the baseline",)


def test_a_floor_that_cannot_be_checked_is_not_green() -> None:
    """A metric that has a minimum and is not in the file makes the comparison incomplete."""
    now = table(hit_at_1=0.9, hit_at_3=0.9, hit_at_10=0.9)
    limits = gate.check_limits(now, gate.EVAL_THRESHOLDS)
    assert [str(limit) for limit in limits if limit.value is None] == ["bm25/easy/hit_at_5: not measured"]
    assert gate.compare(now, now, limits=limits).exit_code is ExitCode.CANNOT_TELL


def test_a_boundary_of_a_floor_is_crossed_beyond_epsilon() -> None:
    """0.7 written as 0.1 + 0.6 is not below 0.7, and a rate exactly at its maximum is not above."""
    limit = {"bm25": {"easy": {"hit_at_1": 0.1 + 0.6 + 1e-16, "heading_only_hit_rate": 0.1 + 0.1}}}
    now = table(hit_at_1=0.7, heading_only_hit_rate=0.2)
    assert not any(checked.broken for checked in gate.check_limits(now, limit))


def test_report_keeps_their_keys_in_their_order() -> None:
    """comparison.json begins with what their script writes, and holds raggate's findings behind it."""
    comparison = gate.compare(table(a=1.0, b=0.1, c=0.5, d=1), table(a=0.5, b=0.9, c=0.5))
    content = gate.report(comparison, "2026-01-02T03:04:05Z", baseline=Path("/b"), current=Path("/c"))
    keys = "timestamp baseline_path current_path threshold regressions improvements unchanged passed"
    assert list(content)[:8] == keys.split()
    place = {"mode": "bm25", "difficulty": "easy", "metric": "a"}
    assert content["regressions"] == [place | {"baseline": 1.0, "current": 0.5, "delta": -0.5, "threshold": 0.05}]
    assert [row["metric"] for row in content["improvements"]] == ["b"]
    assert [row["metric"] for row in content["unchanged"]] == ["c"]
    assert (content["passed"], content["vanished"], content["exit_code"]) == (False, ["bm25/easy/d"], 1)
    assert json.loads(json.dumps(content)) == content
