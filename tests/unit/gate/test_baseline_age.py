"""What is said of the age of a baseline."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_baseline, make_comparison, make_delta
from raggate.config.gate_settings import Gate
from raggate.gate import baseline_age
from raggate.gate.verdict import decide
from tables import each_row

DAY = "2026-06-10T12:00:00Z"
NEW_YEAR = "2026-01-01T00:00:00Z"


@each_row(
    ("measured", "at", "allowed", "codes"),
    [
        pytest.param(NEW_YEAR, "2026-04-01T00:00:00Z", 90, [], id="exactly-90-days"),
        pytest.param(NEW_YEAR, "2026-04-01T00:00:01Z", 90, ["stale-baseline"], id="a-second-more"),
        pytest.param(NEW_YEAR, "2026-01-02T00:00:01Z", 1, ["stale-baseline"], id="a-day"),
        pytest.param("2020-01-01T00:00:00Z", DAY, None, [], id="off"),
        pytest.param("long ago", DAY, 1, [], id="baseline-without-a-day"),
        pytest.param(None, DAY, 1, [], id="nothing-known"),
        pytest.param(NEW_YEAR, "", 1, [], id="run-without-a-day"),
        pytest.param("2026-06-11T12:00:00Z", DAY, 90, [], id="clocks-a-day-apart"),
        pytest.param("2026-06-11T12:00:01Z", DAY, 90, ["future-baseline"], id="a-second-later"),
        pytest.param("9999-12-31T00:00:00Z", DAY, None, [], id="future-and-off"),
    ],
)
def test_age(measured: Any, at: str, allowed: int | None, codes: list[str]) -> None:
    """More days than allowed before, or more than one after, is told; what has no date is not judged."""
    held = make_baseline(provenance={"measured": measured})
    assert [reason.code for reason in baseline_age.reasons(held, at, allowed)] == codes


@each_row(
    ("at", "message"),
    [
        (
            "2026-05-01T06:00:00Z",
            "the baseline was measured on 2026-01-01, 120 days before this run, and counts as stale after 90: promote "
            "a newer run",
        ),
        (
            "2025-12-01T00:00:00Z",
            "the baseline was measured on 2026-01-01, 31 days after this run, so for that long nobody is told that it "
            "is stale: if a clock was wrong, promote a run by the right one",
        ),
    ],
)
def test_the_age_is_a_warning(at: str, message: str) -> None:
    """The warning says when the baseline was measured, how far that is from the run, and what to do; it is no red."""
    held = make_baseline(provenance={"measured": NEW_YEAR})
    verdict = decide(make_comparison(make_delta(0.8, 0.8), baseline=held), (), Gate(), started=at)
    assert (verdict.outcome, [warning.message for warning in verdict.warnings]) == ("pass", [message])
