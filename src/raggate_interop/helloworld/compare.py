"""Two runs of helloworld held against each other as its scripts do, and the gate that its plan asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from raggate.models.scorecard import EPSILON, Direction, oriented

if TYPE_CHECKING:
    from raggate_interop.helloworld.read import RunFiles

TEMPERATURE_TOLERANCE = 0.001
JUDGED_GOOD = 4.0
JUDGED_BAD = 3.0

CONFIGURATION = (
    *("k", "rerank_weights", "folder_mode", "llm_model", "embedding_model", "judge_model", "judge_prompt_version"),
    *("judge_temperature", "index_build_version", "retriever_version", "answerer_version"),
)
"""Keys of `config.json` whose differences are shown."""

INDEX = ("index_version", "chunker_version")
"""Keys of the rows' `indexing_coverage` whose differences are shown."""

_SCORED_BY = ("k", "folder_mode")
"""Keys of the rows' own `config` that their scoring reads."""

Level = Literal["error", "warn", "off"]
LEVELS: dict[str, Level] = {
    **dict.fromkeys(("eval_set_commit_hash", "judge_model", "judge_prompt_version", "judge_temperature", "k"), "error"),
    "debug_fields": "error",
    **dict.fromkeys(("folder_mode", "embedding_model", *INDEX), "warn"),
}
"""What should be equal on both sides, and what a difference does: error forbids the comparison, warn is only told.

Another K makes other metrics of the same name; models, folders and index are what experiments are about.
"""

DIRECTIONS: dict[str, Direction] = {
    "recall_at_k_avg": "higher",
    "mrr_avg": "higher",
    "precision_at_k_avg": "higher",
    "scope_miss_rate": "lower",
    "attribution_hit_rate": "higher",
    "groundedness_avg": "higher",
    "correctness_avg": "higher",
    "abstention_accuracy": "higher",
    "hallucination_rate_unanswerable": "lower",
    "latency_p50_ms": "lower",
    "latency_p95_ms": "lower",
}
"""The metrics that are compared, in their order, and which way is better."""

GATED = {"recall_at_k_avg": 0.05, "scope_miss_rate": 0.10, "groundedness_avg": 0.5}
"""The largest allowed changes for the worse, absolute: shares of cases, and points of the judge."""


class Invariant(Struct, frozen=True, kw_only=True):
    """A setting that should be the same on both sides. `level` error forbids the comparison, warn only doubts it."""

    name: str
    level: Level
    baseline: Any
    new: Any


class MetricDelta(Struct, frozen=True, kw_only=True):
    """A mean on both sides; `delta_pct` is the change in percent of the baseline, None for a baseline of 0."""

    metric: str
    baseline: float
    new: float
    delta: float
    delta_pct: float | None


class RowFlip(Struct, frozen=True, kw_only=True):
    """A question that went over a threshold: what changed, as their report writes it. `weight` ranks the worst first.

    A question that lost one metric and gained another stands among the regressions and among the improvements.
    """

    test_case_id: str
    question: str
    changes: tuple[str, ...]
    weight: float


class RunComparison(Struct, frozen=True, kw_only=True):
    """Everything that differs between two runs.

    `vanished` and `added` are the questions with a row in the baseline alone, and in the new run alone; both are empty
    where a side has no rows.
    """

    invariants: tuple[Invariant, ...]
    deltas: tuple[MetricDelta, ...]
    regressions: tuple[RowFlip, ...]
    improvements: tuple[RowFlip, ...]
    config: Mapping[str, tuple[Any, Any]]
    vanished: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def comparable(self) -> bool:
        """Whether no invariant forbids the comparison."""
        return all(invariant.level != "error" for invariant in self.invariants)


class Regression(Struct, frozen=True, kw_only=True):
    """A gated metric that changed for the worse by more than its threshold."""

    delta: MetricDelta
    threshold: float


def compare(baseline: RunFiles, new: RunFiles, levels: Mapping[str, Level] | None = None) -> RunComparison:
    """Compare two runs; `levels` overrides `LEVELS`, by name."""
    regressions, improvements = _flips(baseline.rows, new.rows)
    asked = [dict.fromkeys(str(row.get("test_case_id")) for row in side.rows) for side in (baseline, new)]
    named = all(asked)
    return RunComparison(
        vanished=tuple(case for case in asked[0] if named and case not in asked[1]),
        added=tuple(case for case in asked[1] if named and case not in asked[0]),
        invariants=tuple(check_invariants(baseline, new, levels)),
        deltas=tuple(_deltas(baseline.metrics, new.metrics)),
        regressions=regressions,
        improvements=improvements,
        config={
            key: (before, now)
            for key in (*CONFIGURATION, *INDEX)
            for before, now in [(setting(baseline, key), setting(new, key))]
            if before != now
        },
    )


def setting(side: RunFiles, name: str) -> Any:
    """Return a setting of a run, None where it is not told.

    `config.json` tells it, and where it does not, the rows; what the rows were scored by and what their index was, they
    tell themselves. Rows that do not agree give all their values in one text.
    """
    kept = side.config.get("index_build_version" if name == "index_version" else name)
    if kept is not None and name not in (*INDEX, *_SCORED_BY):
        return kept
    part = "indexing_coverage" if name in INDEX else "config"
    recorded = [value for row in side.rows if (value := (row.get(part) or {}).get(name)) is not None]
    values = {value if isinstance(value, str | int | float) else json.dumps(value): value for value in recorded}
    if len(values) > 1:
        return ", ".join(sorted(str(value) for value in values))
    return next(iter(values.values()), kept)


def check_invariants(
    baseline: RunFiles, new: RunFiles, levels: Mapping[str, Level] | None = None
) -> Iterator[Invariant]:
    """Yield what should be equal and is not: at its level where both sides say it, warn where one does."""
    commit = "eval_set_commit_hash"
    for name, level in {**LEVELS, **(levels or {})}.items():
        before, now = (setting(side, name) for side in (baseline, new))
        if name == commit:
            before, now = (side.config.get(commit) or side.metrics.get(commit) for side in (baseline, new))
        if name == "debug_fields":
            before, now = (debug_fields(side) for side in (baseline, new))
            if not (before and now):
                # without a retrieved chunk nothing is known of its fields
                continue
        number = name in ("judge_temperature", "k")
        present = [value is not None if number else bool(value) for value in (before, now)]
        if level == "off":
            continue
        if all(present):
            if _differ(name, before, now):
                yield Invariant(name=name, level=level, baseline=before, new=now)
        elif any(present) and (name == commit or (before is None) != (now is None)):
            yield Invariant(name=name, level="warn", baseline=before, new=now)


def debug_fields(side: RunFiles) -> str:
    """Name the fields that the retrieved chunks of a run have, in any of them; empty where there is no chunk."""
    chunks = (chunk for row in side.rows for chunk in row.get("retrieved_chunks") or ())
    return ", ".join(sorted({field for chunk in chunks for field in chunk}))


def _differ(name: str, before: Any, now: Any) -> bool:
    if name == "judge_temperature" and isinstance(before, int | float) and isinstance(now, int | float):
        return abs(before - now) > TEMPERATURE_TOLERANCE
    return bool(before != now)


def check_regressions(
    comparison: RunComparison, thresholds: Mapping[str, float] = GATED
) -> tuple[list[Regression], list[str]]:
    """Apply the thresholds of their plan. Returns what fell too far, and the gated metrics that a side lacks."""
    deltas = {delta.metric: delta for delta in comparison.deltas}
    regressions = [
        Regression(delta=deltas[metric], threshold=thresholds[metric])
        for metric in GATED
        if metric in deltas and -oriented(DIRECTIONS[metric], deltas[metric].delta) > thresholds[metric] + EPSILON
    ]
    return regressions, [metric for metric in GATED if metric not in deltas]


def _deltas(baseline: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[MetricDelta]:
    sides = [_flat(metrics.get("aggregate_metrics") or {}) for metrics in (baseline, new)]
    for metric in DIRECTIONS:
        before, now = (side.get(metric) for side in sides)
        if before is not None and now is not None:
            delta = now - before
            percent = delta / before * 100 if before != 0 else None
            yield MetricDelta(metric=metric, baseline=before, new=now, delta=delta, delta_pct=percent)


def _flat(aggregates: Mapping[str, Any]) -> dict[str, Any]:
    times = aggregates.get("latency") or {}
    return {**aggregates, "latency_p50_ms": times.get("p50_ms"), "latency_p95_ms": times.get("p95_ms")}


def _flips(
    baseline: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> tuple[tuple[RowFlip, ...], tuple[RowFlip, ...]]:
    before = {row.get("test_case_id"): row for row in baseline}
    now = {row.get("test_case_id"): row for row in new}
    lost, gained = [], []
    for case_id in before.keys() & now.keys():
        changes = list(_changes(before[case_id], now[case_id]))
        flip = RowFlip(
            test_case_id=str(case_id),
            question=str(before[case_id].get("question", "")),
            changes=tuple(text for text, _ in changes),
            weight=sum(abs(size) for _, size in changes),
        )
        if any(size < 0 for _, size in changes):
            lost.append(flip)
        if any(size > 0 for _, size in changes):
            gained.append(flip)
    return _ranked(lost), _ranked(gained)


def _ranked(flips: Sequence[RowFlip]) -> tuple[RowFlip, ...]:
    return tuple(sorted(flips, key=lambda flip: (-flip.weight, flip.test_case_id)))


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the changes of one question with their size: share of the metric's range, below 0 for the worse."""
    # a row that was never scored counts as a miss
    recalls = [(row.get("retrieval_metrics") or {}).get("recall_at_k", 0.0) for row in (before, now)]
    if sorted(recalls) == [0.0, 1.0]:
        yield f"recall_at_k: {recalls[0]:.1f} → {recalls[1]:.1f}", recalls[1] - recalls[0]
    for name in ("groundedness", "correctness"):
        old, new = ((row.get(name) or {}).get("score") for row in (before, now))
        if old is None or new is None:
            continue
        if (old >= JUDGED_GOOD and new < JUDGED_BAD) or (old < JUDGED_BAD and new >= JUDGED_GOOD):
            yield f"{name}: {old:.1f} → {new:.1f}", (new - old) / 5
