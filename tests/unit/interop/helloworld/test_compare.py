"""Two runs of helloworld compared: invariants, deltas, flips and the gate of its plan."""

from __future__ import annotations

from typing import Any

import pytest

from helloworld_files import CONFIG, FLAT, make_row
from raggate_interop.helloworld.compare import check_invariants, check_regressions, compare
from raggate_interop.helloworld.read import RunFiles
from tables import each_row


def side(aggregates: dict[str, Any] | None = None, rows: Any = (), **config: Any) -> RunFiles:
    """Build one run."""
    return RunFiles(run_id="r", config={**CONFIG, **config}, metrics={"aggregate_metrics": aggregates or {}}, rows=rows)


@each_row(
    ("name", "before", "now", "level"),
    [
        ("eval_set_commit_hash", "a", "b", "error"),
        ("eval_set_commit_hash", "a", None, "warn"),
        ("eval_set_commit_hash", None, None, None),
        ("judge_model", "3B", "14B", "error"),
        ("judge_model", "3B", None, "warn"),
        ("judge_model", None, None, None),
        ("judge_model", "3B", "", None),
        ("judge_prompt_version", "v1.0", "v1.1", "error"),
        ("judge_temperature", 0.0, 0.0009, None),
        ("judge_temperature", 0.0, 0.002, "error"),
        ("judge_temperature", None, 0.0, "warn"),
        ("k", 5, 8, "error"),
        ("k", 5, None, "warn"),
        ("folder_mode", "off", "on", "warn"),
        ("embedding_model", "a", "b", "warn"),
        ("index_build_version", "a", "b", "warn"),
        ("llm_model", "a", "b", None),
    ],
)
def test_invariants(name: str, before: Any, now: Any, level: str | None) -> None:
    """Two values that differ forbid the comparison, one value is a doubt, none is fine."""
    broken = list(check_invariants(side(**{name: before}), side(**{name: now})))
    assert [invariant.level for invariant in broken] == ([level] if level else [])


def indexed(**coverage: Any) -> list[dict[str, Any]]:
    """Build rows that tell their index."""
    return [make_row("a", indexing_coverage=coverage), make_row("b", indexing_coverage=coverage), make_row("c")]


def test_the_rows_tell_their_index() -> None:
    """Index and chunker are told by the rows; levels can be raised, lowered and switched off, by name."""
    before = side(rows=indexed(index_version="aaa", chunker_version="v1"))
    new = side(rows=indexed(index_version="bbb", chunker_version="v2"))
    comparison = compare(before, new)
    assert [(invariant.name, invariant.level) for invariant in comparison.invariants] == [
        ("index_version", "warn"),
        ("chunker_version", "warn"),
    ]
    assert comparison.config == {"index_version": ("aaa", "bbb"), "chunker_version": ("v1", "v2")}
    assert comparison.comparable
    strict = compare(before, new, {"index_version": "error", "chunker_version": "off"})
    assert [(invariant.name, invariant.level) for invariant in strict.invariants] == [("index_version", "error")]
    assert not strict.comparable
    mixed = side(rows=[*indexed(index_version="bbb"), *indexed(index_version="aaa")])
    assert compare(before, mixed).config["index_version"] == ("aaa", "aaa, bbb")


def test_the_rows_tell_what_they_were_scored_by() -> None:
    """K and folder mode are those of the rows, which were scored by them, before those of config.json."""
    other = {**CONFIG, "k": 20, "folder_mode": "off"}
    comparison = compare(side(rows=[make_row("a")]), side(rows=[make_row("a", config=other)]))
    assert comparison.config == {"k": (5, 20), "folder_mode": ("on_with_fallback", "off")}
    assert not comparison.comparable


def test_settings_and_deltas() -> None:
    """Settings that differ are listed; a delta has its percent, which a baseline of 0 has not; one side is no delta."""
    before = side({**FLAT, "mrr_avg": 0.0, "latency": {"p50_ms": 100.0}}, k=5)
    new = side({"recall_at_k_avg": 0.63, "mrr_avg": 0.1, "latency": {"p50_ms": 150}, "abstention_accuracy": 1.0}, k=8)
    comparison = compare(before, new)
    assert comparison.config == {"k": (5, 8)}
    deltas = {delta.metric: (round(delta.delta, 9), delta.delta_pct) for delta in comparison.deltas}
    assert deltas["recall_at_k_avg"] == (-0.07, pytest.approx(-10.0))
    assert deltas["mrr_avg"] == (0.1, None)
    assert deltas["latency_p50_ms"] == (50.0, 50.0)
    assert len(deltas) == 3


def scored(case_id: str, recall: float | None, grounded: float | None = None, correct: float | None = None) -> Any:
    """Build a scored row."""
    row = make_row(case_id)
    for key, value in (("recall_at_k", recall),):
        row |= {} if value is None else {"retrieval_metrics": {key: value}}
    for key, value in (("groundedness", grounded), ("correctness", correct)):
        row |= {} if value is None else {"scores": 0, key: {"score": value, "reasoning": ""}}
    return row


@each_row(
    ("before", "now", "lost", "gained"),
    [
        pytest.param((1.0,), (0.0,), True, False, id="recall lost"),
        pytest.param((0.0,), (1.0,), False, True, id="recall gained"),
        pytest.param((None,), (1.0,), False, True, id="never scored counts as a miss"),
        pytest.param((0.0, 4.0), (0.0, 2.9), True, False, id="judge from 4 to below 3"),
        pytest.param((0.0, 4.0), (0.0, 3.0), False, False, id="3 is not below 3"),
        pytest.param((0.0, 3.9), (0.0, 1.0), False, False, id="3.9 was no success"),
        pytest.param((0.0, 2.9), (0.0, 4.0), False, True, id="judge from below 3 to 4"),
        pytest.param((0.0, None, 5.0), (0.0, None, 0.0), True, False, id="correctness"),
        pytest.param((0.0, 5.0), (0.0, None), False, False, id="one side not judged"),
        pytest.param((1.0, 1.0), (0.0, 5.0), True, True, id="both ways at once"),
    ],
)
def test_flips(before: tuple[Any, ...], now: tuple[Any, ...], lost: bool, gained: bool) -> None:
    """A question flips with recall, or when a judge's score goes over both thresholds."""
    comparison = compare(side(rows=[scored("q", *before)]), side(rows=[scored("q", *now), scored("new", 1.0)]))
    assert (bool(comparison.regressions), bool(comparison.improvements)) == (lost, gained)


def test_flips_are_ranked() -> None:
    """The question that lost most comes first, then by id."""
    before = [scored("b", 1.0), scored("c", 1.0, 5.0), scored("a", 1.0)]
    comparison = compare(side(rows=before), side(rows=[scored("a", 0.0), scored("b", 0.0), scored("c", 0.0, 0.0)]))
    assert [flip.test_case_id for flip in comparison.regressions] == ["c", "a", "b"]
    assert comparison.regressions[0].changes == ("recall_at_k: 1.0 → 0.0", "groundedness: 5.0 → 0.0")


@each_row(
    ("metric", "before", "now", "falls"),
    [
        ("recall_at_k_avg", 0.80, 0.75, False),
        ("recall_at_k_avg", 0.80, 0.74, True),
        ("recall_at_k_avg", 0.80, 0.95, False),
        ("scope_miss_rate", 0.10, 0.20, False),
        ("scope_miss_rate", 0.10, 0.21, True),
        ("scope_miss_rate", 0.50, 0.10, False),
        ("groundedness_avg", 4.0, 3.5, False),
        ("groundedness_avg", 4.0, 3.4, True),
    ],
)
def test_thresholds_of_the_plan(metric: str, before: float, now: float, falls: bool) -> None:
    """More than the threshold for the worse regresses, and floats do not decide the boundary."""
    regressions, missing = check_regressions(compare(side({metric: before}), side({metric: now})))
    assert bool(regressions) is falls
    assert len(missing) == 2
