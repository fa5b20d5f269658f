"""Figures: how a value, a change, a rank and a count are written, and which rows are shown in which order."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case_score,
    make_comparison,
    make_delta,
    make_flip,
    make_metric,
    make_operations,
    make_scorecard,
)
from raggate.models.scorecard import Operations, Scorecard
from raggate.models.verdict import GatedMetric, Reason, Status
from raggate.reports.parts import formatting
from reviews import regression
from tables import each_row


def row(metric: str = "hit_at_5", status: Status = "same", *, gated: bool = True, **fields: Any) -> GatedMetric:
    """Build a judged row."""
    return GatedMetric(delta=make_delta(metric=metric, **fields), status=status, allowed=0.05, floor=None, gated=gated)


@each_row(
    ("kinds", "since", "written"),
    [
        pytest.param(("missed",), "same", "Questions that must pass and failed before too (1)", id="failed-before"),
        pytest.param(("missed",), "relabelled", "Questions that must pass and do not (1)", id="asks-something-else"),
        pytest.param(("missed",), "added", "Questions that must pass and do not (1)", id="is-new"),
        pytest.param(
            ("fell", "missed"), "same", "Questions that must pass, or got worse without breaking (2)", id="both"
        ),
        pytest.param(("fell",), "added", "Questions that are new and below usual (1)", id="is-new-and-fell"),
    ],
)
def test_questions_that_did_not_break(kinds: tuple[Any, ...], since: Any, written: str) -> None:
    """That a question failed before, or got worse, is said of those alone that were asked before."""
    flips = [make_flip(f"q{number}", kind=kind, since=since) for number, kind in enumerate(kinds)]
    assert formatting.fallen_title(flips) == written


def test_a_question_in_several_modes_is_one_in_a_title() -> None:
    """What is told in two modes is one question, and how often it is told stands beside that."""
    flips = [make_flip("q1"), make_flip("q1", mode="vector"), make_flip("q2")]
    assert formatting.how_many(flips) == "2, 3 times in all modes"
    assert formatting.how_many(flips[1:]) == "2"
    twice = [make_flip("q1", kind="fell", mode=mode) for mode in ("hybrid", "vector")]
    assert formatting.fallen_title(twice) == "Questions that got worse without breaking (1, 2 times in all modes)"


TIMES = {"client_ms": {"p50": 12.4, "p95": 30.6}, "retrieval_ms": {"p50": 4.0, "p95": 9.0}}


@each_row(
    ("operations", "written"),
    [
        pytest.param(make_operations(1), "1 call, 0 failed, 0 retried", id="one-call"),
        pytest.param(make_operations(10, 2, retries=3), "10 calls, 2 failed, 3 retries", id="calls"),
        pytest.param(
            make_operations(8, rates={"empty_result_rate": make_metric(3 / 7, 7, unscored=1)}),
            "8 calls, 0 failed, 0 retried · 3 without any passage",
            id="empty-results",
        ),
        pytest.param(
            make_operations(2, latency=TIMES),
            "2 calls, 0 failed, 0 retried · latency p50 12 ms, p95 31 ms · retrieval p50 4 ms, p95 9 ms",
            id="times",
        ),
        pytest.param(
            make_operations(9, 5, failures={"aborted": 3, "status": 2}),
            "6 calls, 2 failed, 0 retried · 3 calls not made",
            id="stopped",
        ),
        pytest.param(
            make_operations(2, coverage={"index_version": "1"}), "2 calls, 0 failed, 0 retried", id="index-not-counted"
        ),
    ],
)
def test_operations_line(operations: Operations, written: str) -> None:
    """How the calls went is one line with what the API told."""
    assert formatting.operations_line(make_scorecard(operations=operations)) == written


@each_row(
    ("failed", "differ", "written"),
    [
        (0, 0, "10 asked twice, all ranked alike"),
        (3, 2, "10 asked twice, 3 without a second answer, 2 of 7 ranked differently"),
        (10, 0, "10 asked twice, 10 without a second answer, 0 of 0 ranked differently"),
    ],
)
def test_operations_line_with_questions_asked_twice(failed: int, differ: int, written: str) -> None:
    """The line says how many questions were ranked differently when asked twice, of those that could be compared."""
    fingerprint = {"repeated": {"asked": 10, "failed": failed, "differ": differ, "questions": []}}
    scorecard = make_scorecard(operations=make_operations(10), fingerprint=fingerprint)
    assert formatting.operations_line(scorecard) == f"10 calls, 0 failed, 0 retried · {written}"


def ended(*failures: str | None) -> Scorecard:
    """Build the scores of a call for each of these failures, None for one that was answered."""
    return make_scorecard(*(make_case_score(f"q{number}", {}, failure=kind) for number, kind in enumerate(failures)))


@each_row(
    ("fields", "written"),
    [
        pytest.param({"compared": 1}, "1 question compared", id="one"),
        pytest.param({"compared": 12}, "12 questions compared", id="several"),
        pytest.param({"baseline": make_baseline()}, "only means compared", id="bare-metrics-file"),
        pytest.param({"incomparable": ("other suite",)}, "not comparable", id="incomparable"),
        pytest.param({"scorecard": ended("aborted", None)}, "compared in part", id="cut-short"),
        pytest.param({"scorecard": ended("aborted", "status")}, "no answer to compare", id="cut-short-without-answers"),
        pytest.param({"scorecard": ended("status")}, "no answer to compare", id="all-calls-failed"),
    ],
)
def test_compared(fields: dict[str, Any], written: str) -> None:
    """How much of a baseline could be compared is said in words."""
    assert formatting.compared(make_comparison(**fields)) == written


class TestMainRows:
    """The rows of the first table."""

    def test_natural_order(self) -> None:
        """Rows are ordered by mode, then by name with numbers as numbers."""
        rows = [row("hit_at_10"), row("hit_at_3"), row("ndcg_at_5"), row("ndcg_exp_at_1"), row("hit_at_1", mode="bm25")]
        assert [(item.delta.mode, item.delta.metric) for item in formatting.main_rows(rows)] == [
            ("bm25", "hit_at_1"),
            ("hybrid", "hit_at_3"),
            ("hybrid", "hit_at_10"),
            ("hybrid", "ndcg_at_5"),
            ("hybrid", "ndcg_exp_at_1"),
        ]

    def test_mode_that_is_gone(self) -> None:
        """A mode that is gone altogether has no rows, as one reason says all there is to say."""
        gone = [row(metric, "vanished", mode="bm25", current=None, baseline=0.5) for metric in ("a", "b")]
        assert formatting.main_rows([*gone, row()]) == [row()]

    def test_metric_that_is_gone(self) -> None:
        """A metric that applies to no case of a mode that was asked keeps its row."""
        gone = row(status="vanished")
        gone = replace(gone, delta=replace(gone.delta, current=make_metric(None, 0, unscored=10)))
        assert formatting.main_rows([gone]) == [gone]


def sliced(name: str, status: Status, current: float = 0.5, *, n: int = 5, gated: bool = True) -> GatedMetric:
    """Build a judged row of a slice."""
    found = row(status=status, gated=gated, slice=name, current=current)
    return replace(found, delta=replace(found.delta, current=replace(found.delta.current, n=n)))


def test_slice_rows() -> None:
    """Slices that got worse stand by size of the change, without those that hold all cases, are small or are gone."""
    small, large = sliced("tag=a", "worse", 0.6), sliced("tag=b", "worse", 0.3)
    left_out = [
        sliced("tag=all", "worse", n=10),
        sliced("tag=same", "same"),
        sliced("tag=small", "not gated", gated=False),
        sliced("tag=gone", "vanished", n=0),
    ]
    assert formatting.slice_rows([row(), small, *left_out, large]) == [large, small]


def test_better_slice_rows() -> None:
    """Slices that got better do so by more than they are allowed to get worse, largest change first."""
    small, large = sliced("tag=a", "better", 0.9), sliced("tag=b", "better", 1.0)
    within, whole = sliced("tag=within", "better", 0.81), sliced("tag=all", "better", 1.0, n=10)
    rows = [row(), small, sliced("tag=c", "worse", 0.3), within, whole, large]
    assert formatting.slice_rows(rows, better=True) == [large, small]


UNDECIDED_CODES = ("worse", "below-floor", "creep", "must-pass", "composite-worse", "perhaps-worse")


@each_row("outcome", ["cannot tell", "interrupted"])
def test_without_a_verdict_only_its_causes_are_told(outcome: Any) -> None:
    """Where there is no verdict, what seemed to be worse is neither among the reasons nor among the warnings."""
    cause = Reason(code="too-many-errors", message="3 of 24 calls failed")
    worse = tuple(Reason(code=code, message=code) for code in UNDECIDED_CODES)
    drift = Reason(code="drift", message="the index is another one")
    review = regression()
    verdict = replace(
        review.verdict,
        outcome=outcome,
        reasons=(cause, *worse),
        warnings=(Reason(code="slice-worse", message="slice"), drift),
    )
    review = replace(review, verdict=verdict)
    assert (formatting.deciding(review), formatting.warnings(review)) == ([cause], [drift])
    assert formatting.undecided(review)
    nothing_compared = replace(review, verdict=replace(verdict, rows=()))
    assert formatting.deciding(nothing_compared) == [cause, *worse]
    assert not formatting.undecided(nothing_compared)
