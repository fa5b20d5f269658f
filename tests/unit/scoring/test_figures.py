"""Figures with units: how metrics are named, and how values, changes and limits are written."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_delta, make_metric
from raggate.config.gate_settings import Gate
from raggate.gate.policies import classify_row
from raggate.models.comparison import Delta
from raggate.scoring import figures
from tables import each_row


@each_row(
    ("metric", "written"),
    [
        ("hit_at_5", "hit@5"),
        ("mrr_at_10", "MRR@10"),
        ("ndcg_exp_at_3", "nDCG-exp@3"),
        ("context_chars_at_10", "context@10"),
        ("false_abstention_rate", "false abstention rate"),
        ("look_at_me", "look at me"),
        ("x_at_", "x at "),
    ],
)
def test_title(metric: str, written: str) -> None:
    """A metric has the field's name; what is no cut-off is a part of the name."""
    assert figures.title(metric) == written


@each_row(
    ("metric", "value", "beside", "written"),
    [
        pytest.param("hit_at_5", 0.8736, None, "87.4%", id="share"),
        pytest.param("mrr_at_10", 0.7345, None, "0.735", id="mean-of-ranks"),
        pytest.param("faithfulness", 0.7345, None, "0.735", id="grade"),
        pytest.param("of_another_tool", 12.5, None, "12.500", id="unknown"),
        pytest.param("hit_at_5", 0.87361, 0.87362, "87.361%", id="told-apart"),
        pytest.param("context_chars_at_10", 4120.4, None, "4,120 characters", id="characters"),
        pytest.param("context_chars_at_10", 4120.4, 4120.3, "4,120.4 characters", id="characters-told-apart"),
        pytest.param("hit_at_5", None, None, "–", id="none"),
    ],
)
def test_value(metric: str, value: float | None, beside: float | None, written: str) -> None:
    """Shares are in percent and other numbers bare, with as many digits as tell a value from the one beside it."""
    assert figures.value(metric, make_metric(value, 30), beside=beside) == written


@each_row(
    ("delta", "course", "change"),
    [
        pytest.param(make_delta(0.875, 0.75), "87.5 → 75.0%", "−12.5 pt", id="share"),
        pytest.param(make_delta(0.75, 0.7, metric="mrr_at_10"), "0.750 → 0.700", "−0.050", id="number"),
        pytest.param(
            make_delta(4120.0, 21030.0, metric="context_chars_at_10"),
            "4,120 → 21,030 characters",
            "+16,910 characters",
            id="characters",
        ),
        pytest.param(make_delta(0.5, 0.5), "50.0%", "=", id="same"),
        pytest.param(make_delta(0.3, 0.1 + 0.2), "30.0%", "=", id="float-noise"),
        pytest.param(make_delta(0.5, 0.50001), "50.000 → 50.001%", "+0.001 pt", id="small-but-moved"),
        pytest.param(make_delta(None, 0.5), "– → 50.0%", "–", id="nothing-before"),
        pytest.param(make_delta(0.5, None), "50.0% → –", "–", id="nothing-now"),
    ],
)
def test_course_and_change(delta: Delta, course: str, change: str) -> None:
    """Both values stand in one cell and look different where they are; the change has sign and unit."""
    assert (figures.course(delta), figures.change(delta)) == (course, change)


def test_few_cases_are_counts() -> None:
    """Of few cases a 0/1 metric is a count, as a rate would feign precision."""
    delta = make_delta(0.9, 0.5, binary=True)
    assert delta.current.n == 10
    assert figures.course(delta) == "9 → 5 of 10"
    ranks = replace(delta, metric="mrr_at_10")
    assert figures.course(ranks) == "0.900 → 0.500"
    assert (figures.counted(delta), figures.counted(ranks)) == (True, False)
    other = replace(delta, baseline=make_metric(0.5, 4))
    assert figures.course(other) == "2 of 4 → 5 of 10"
    assert figures.course(replace(delta, baseline=make_metric(None, 0))) == "– → 5 of 10"


@each_row(
    ("metric", "direction", "written"),
    [
        pytest.param("hit_at_5", "higher", "5 pt", id="points"),
        pytest.param("mrr_at_5", "higher", "0.02, ≥ 0.8", id="tolerance-and-floor"),
        pytest.param("false_abstention_rate", "lower", "0 pt, ≤ 10%", id="tolerance-and-ceiling"),
        pytest.param("context_chars_at_5", "lower", "500 characters, ≤ 9000 characters", id="amount"),
        pytest.param("other", "higher", "–", id="not-gated"),
    ],
)
def test_allowed(metric: str, direction: Any, written: str) -> None:
    """What is allowed is the tolerance and the limit if there is one, in the metric's unit; a dash when not gated."""
    rules = {"mrr_at_5": {"tolerance": 0.02, "floor": 0.8}, "false_abstention_rate": {"tolerance": 0, "ceiling": 0.1}}
    rules["context_chars_at_5"] = {"tolerance": 500, "ceiling": 9000}
    gate = Gate.model_validate({"metrics": rules})
    assert figures.allowed(classify_row(make_delta(metric=metric, direction=direction), gate)) == written


@each_row(
    ("metric", "ends", "written"),
    [
        ("hit_at_5", (-0.139, -0.034), "−13.9 to −3.4 pt"),
        ("mrr_at_10", (-0.0764, 0.0131), "−0.076 to +0.013"),
        ("context_chars_at_10", (-76.4, 1313.0), "−76 to +1,313 characters"),
        ("mrr_at_10", None, "–"),
    ],
)
def test_interval(metric: str, ends: tuple[float, float] | None, written: str) -> None:
    """An interval has signs and the metric's unit."""
    assert figures.interval(make_delta(metric=metric, interval=ends)) == written


@each_row(
    ("lost", "gained", "written"),
    [(None, None, "10"), (0, 0, "10"), (2, 0, "−2 of 10"), (0, 1, "+1 of 10"), (2, 1, "−2 +1 of 10")],
)
def test_moved(lost: int | None, gained: int | None, written: str) -> None:
    """Next to a value stands how many cases it covers and how many of them moved, if any did."""
    assert figures.moved(make_delta(regressed=lost, improved=gained)) == written
