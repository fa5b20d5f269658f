"""raggate's own decision on simulated runs: scores in, what a reader sees out, by the functions of `raggate.gate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import fsum
from typing import Literal

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate.complaints import find_complaints
from raggate.gate.evidence import composite_tests
from raggate.gate.policies import classify_row, with_evidence
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Delta
from raggate.models.scorecard import OVERALL, CaseScore, MetricValue, Scorecard
from raggate.models.verdict import CompositeTest

MODE = "hybrid"
POLICIES = ("threshold", "evidence")

Scores = Sequence[Mapping[str, float]]
"""For each question its metrics, higher for better."""
Colour = Literal["green", "warning", "red"]


@cache
def gate(policy: str, metrics: tuple[str, ...], composite: tuple[str, ...]) -> Gate:
    """Return the policy with the default tolerance of 0.05 for each metric; no other metric is in the scores."""
    return Gate.model_validate(
        {"policy": policy, "metrics": dict.fromkeys(metrics, 0.05), "composite": list(composite)}
    )


def compared(before: Scores, after: Scores, groups: Sequence[str] | None = None) -> Comparison:
    """Return what raggate compares: the same questions on both sides, with their means."""
    old, new = _scorecard(before, groups), _scorecard(after, groups)
    sides = [*zip(before, after, strict=True)]
    return Comparison(
        baseline=Baseline(source="simulated", scorecard=old, provenance={}),
        scorecard=new,
        deltas=tuple(
            Delta(
                mode=MODE,
                slice=OVERALL,
                metric=metric,
                baseline=stored,
                current=new.slices[MODE][OVERALL][metric],
                delta=(new.slices[MODE][OVERALL][metric].value or 0.0) - (stored.value or 0.0),
                regressed=sum(now[metric] < was[metric] for was, now in sides),
                improved=sum(now[metric] > was[metric] for was, now in sides),
            )
            for metric, stored in old.slices[MODE][OVERALL].items()
        ),
        compared=len(new.cases),
    )


def only(comparison: Comparison, deltas: Sequence[Delta]) -> Comparison:
    """Return a comparison with some of its rows alone."""
    return replace(comparison, deltas=tuple(deltas))


def colour(comparison: Comparison, policy: Gate, tests: Sequence[CompositeTest]) -> Colour:
    """Return what a reader sees of a complete comparison."""
    rows = with_evidence([classify_row(delta, policy) for delta in comparison.deltas], comparison, policy, tests)
    complaints = find_complaints(comparison, rows, policy, (), tests)
    if any(complaint.red for complaint in complaints):
        return "red"
    return "warning" if complaints else "green"


@cache
def counted(n: int, lost: int, gained: int, size: int = 1) -> Mapping[str, Colour]:
    """Decide by each policy on one 0/1 metric: `n` notes with `size` questions each, which move together."""
    before = [{"hit_at_5": float(note >= gained)} for note in range(n) for _ in range(size)]
    after = [{"hit_at_5": float(note < n - lost)} for note in range(n) for _ in range(size)]
    groups = [f"note {note}" for note in range(n) for _ in range(size)] if size > 1 else None
    comparison, metrics = compared(before, after, groups), ("hit_at_5",)
    tests = composite_tests(comparison, {MODE: metrics})
    return {policy: colour(comparison, gate(policy, metrics, metrics), tests) for policy in POLICIES}


def _scorecard(scores: Scores, groups: Sequence[str] | None) -> Scorecard:
    cases = tuple(
        CaseScore(
            case_id=str(number),
            mode=MODE,
            hash="same",
            values=dict(values),
            slices=(OVERALL,),
            group=groups[number] if groups else None,
        )
        for number, values in enumerate(scores)
    )
    means = {metric: _mean([values[metric] for values in scores]) for metric in scores[0]}
    return Scorecard(
        suite="simulated",
        run_id="simulated",
        fingerprint={},
        cases=cases,
        slices={MODE: {OVERALL: means}},
        counts={},
        operations=None,
    )


def _mean(values: Sequence[float]) -> MetricValue:
    return MetricValue(value=fsum(values) / len(values), n=len(values), unscored=0, direction="higher")
