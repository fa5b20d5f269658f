"""substrate's regression gate: two tables of metrics and a policy in, judged rows and an exit code out.

By default it keeps the promise of the specification: directions are known, a boundary is crossed only beyond 1e-9, and
what has vanished fails. `as_written` judges as `compare_baseline.py` does, mistakes included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from raggate.base.errors import ExitCode
from raggate.base.jsonio import as_dict
from raggate.models.scorecard import EPSILON, OVERALL, Direction, improvement, oriented
from raggate.scoring.metrics import METRICS, Metric
from raggate_interop.substrate.metrics_files import Bucket, Table

Limits = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By mode, then by difficulty or `overall`, then by metric."""

_HITS = ("hit_at_1", "hit_at_3", "hit_at_5", "hit_at_10")

HEADING_BIAS_THRESHOLDS: Mapping[str, float] = {
    "heading_only_hit_rate": 0.20,
    "duplicate_doc_rate": 0.30,
    "heading_dominance_rate": 0.15,
}
"""The most that `heading_bias.py` accepts; its dominance is that of documents."""
SCENARIOS: Limits = {
    "heading_bias": {
        "bm25": {"hit_at_3": 0.80, "heading_dominance_rate": 0.30},
        "vector": {"hit_at_3": 0.80},
        "hybrid": {"hit_at_3": 0.90, "heading_dominance_rate": 0.20},
    },
    "exact_match": {
        "bm25": {"hit_at_1": 0.85, "mrr_at_10": 0.85},
        "hybrid": {"hit_at_3": 0.70, "mrr_at_10": 0.70},
    },
    "semantic_para": {
        "vector": {"hit_at_3": 0.80, "mrr_at_10": 0.70},
        "hybrid": {"hit_at_5": 0.70, "mrr_at_10": 0.60},
        "bm25": {"hit_at_3": 0.30},
    },
    "near_duplicate": {
        "bm25": {"diversity_rate": 0.60},
        "vector": {"diversity_rate": 0.60},
        "hybrid": {"diversity_rate": 0.60, "hit_at_5": 0.70},
    },
}
"""Targets by scenario, then by mode: minima, or maxima for rates that should be low."""
DEFAULT_THRESHOLD = 0.05
COUNT = "count"
Status = Literal["REGRESSED", "IMPROVED", "OK", "TOO FEW"]


def _floors(*values: float) -> dict[str, float]:
    return dict(zip(_HITS, values, strict=True))


EVAL_THRESHOLDS: Limits = {
    "bm25": {
        "easy": _floors(0.70, 0.80, 0.85, 0.90),
        "medium": _floors(0.50, 0.65, 0.75, 0.85),
        "hard": _floors(0.30, 0.45, 0.55, 0.70),
        "fusion": _floors(0.40, 0.55, 0.65, 0.75),
    },
    "vector": {
        "easy": _floors(0.50, 0.60, 0.70, 0.80),
        "medium": _floors(0.40, 0.55, 0.65, 0.75),
        "hard": _floors(0.25, 0.40, 0.50, 0.65),
        "fusion": _floors(0.35, 0.50, 0.60, 0.70),
    },
    "hybrid": {
        "easy": _floors(0.75, 0.85, 0.90, 0.95),
        "medium": _floors(0.55, 0.70, 0.80, 0.90),
        "hard": _floors(0.35, 0.50, 0.60, 0.75),
        "fusion": _floors(0.45, 0.60, 0.70, 0.80),
    },
}
"""The least share of hits, as the catalog's `eval golden --check` demands it."""


class Policy(Struct, frozen=True, kw_only=True):
    """How far a metric may get worse, and what else fails.

    Attributes:
        threshold: for metrics without one of their own in `thresholds`.
        vanished: whether what the baseline has and the current run does not is a failure.
        min_count: buckets of fewer queries on either side are shown and not judged.
        as_written: judge as their script: more is always better, no tolerance for float errors, the rest ignored.
    """

    threshold: float = DEFAULT_THRESHOLD
    thresholds: Mapping[str, float] = field(default_factory=dict)
    strict: bool = False
    vanished: bool = True
    min_count: int = 1
    as_written: bool = False


class Row(Struct, frozen=True, kw_only=True):
    """One metric of one bucket on both sides; `delta` is current minus baseline."""

    mode: str
    difficulty: str
    metric: str
    baseline: float
    current: float
    delta: float
    threshold: float
    status: Status


class Limit(Struct, frozen=True, kw_only=True):
    """One absolute limit: `value` None where the run does not say. `broken` is set for a value beyond it."""

    mode: str
    bucket: str
    metric: str
    value: float | None
    limit: float
    direction: Direction
    broken: bool

    def __str__(self) -> str:
        """Write it as their check does: `bm25/easy/hit_at_1: 60.0% < 70.0%`."""
        sign = "<" if self.direction == "higher" else ">"
        # rounded as theirs is: to even
        outcome = "not measured" if self.value is None else f"{self.value:.1%} {sign} {self.limit:.1%}"
        return f"{self.mode}/{self.bucket}/{self.metric}: {outcome}"


class Comparison(Struct, frozen=True, kw_only=True):
    """A run held against its baseline and its limits.

    `vanished` names modes, buckets and metrics that only the baseline has, as `mode/bucket/metric`, counts among them;
    `shrunk` buckets of fewer queries than the baseline's; `added` what only the run has. `levelled` says that `overall`
    was left out because one file's shape cannot say it.
    """

    rows: tuple[Row, ...]
    vanished: tuple[str, ...] = ()
    shrunk: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    levelled: bool = False
    policy: Policy = field(default_factory=Policy)

    @property
    def regressions(self) -> tuple[Row, ...]:
        """Rows that got worse by more than they may."""
        return tuple(row for row in self.rows if row.status == "REGRESSED")

    @property
    def exit_code(self) -> ExitCode:
        """Return how the gate ends.

        0 for theirs 0; 1 for theirs 1: something regressed or is beyond a limit; 3 where theirs is 0 although nothing,
        or not everything, could be compared. Their 2, an unusable file, is raggate's 2 before anything is compared.
        """
        if self.regressions or any(limit.broken for limit in self.limits):
            return ExitCode.REGRESSION
        # a limit is asked for beside whatever else is let go
        if any(limit.value is None for limit in self.limits):
            return ExitCode.CANNOT_TELL
        if self.policy.as_written:
            return ExitCode.PASS
        if not self.limits and all(row.status == "TOO FEW" for row in self.rows):
            return ExitCode.CANNOT_TELL
        incomplete = self.vanished or self.shrunk
        return ExitCode.CANNOT_TELL if incomplete and self.policy.vanished else ExitCode.PASS


def compare(
    baseline: Table,
    current: Table,
    policy: Policy | None = None,
    limits: tuple[Limit, ...] = (),
    *,
    flat: tuple[bool, bool] = (False, False),
) -> Comparison:
    """Compare every metric that both sides have, in the order of mode, difficulty and metric.

    Args:
        limits: absolute limits, already checked against `current`.
        flat: whether the baseline's file and the run's are of a shape that cannot say `overall`. Where one of them is,
            only difficulties are compared; a file that could say it and does not has lost it.
    """
    chosen = policy or Policy()
    levelled = _is_levelled((baseline, current), flat)
    sides = [_without_overall(side) if levelled or chosen.as_written else side for side in (baseline, current)]
    before, now = sides
    return Comparison(
        rows=tuple(_rows(before, now, chosen)),
        vanished=() if chosen.as_written else tuple(_only_in(before, now)),
        shrunk=() if chosen.as_written else tuple(_shrunk(before, now)),
        added=tuple(_only_in(now, before)),
        limits=limits,
        levelled=levelled,
        policy=chosen,
    )


def check_limits(current: Table, limits: Limits, *, everywhere: bool = False) -> tuple[Limit, ...]:
    """Compare a run with absolute limits: mode, bucket and metric to value.

    One of a metric that its bucket does not say, or over all queries of a mode, is kept with the value None: it was
    asked for and not measured.

    Args:
        everywhere: whether a difficulty that the run does not have was asked for too.
    """
    checked = []
    for mode, buckets in limits.items():
        for name, metrics in buckets.items():
            bucket = current.get(mode, {}).get(name)
            for metric, limit in metrics.items() if bucket is not None or everywhere or name == OVERALL else ():
                value = (bucket or {}).get(metric)
                direction = direction_of(metric)
                worse = value is not None and improvement(direction, value, limit) > EPSILON
                checked.append(
                    Limit(
                        mode=mode,
                        bucket=name,
                        metric=metric,
                        value=value,
                        limit=limit,
                        direction=direction,
                        broken=worse,
                    )
                )
    return tuple(checked)


def targets(scenario: Mapping[str, Mapping[str, float]]) -> Limits:
    """Return the targets of a scenario as limits over all its queries."""
    return {mode: {OVERALL: metrics} for mode, metrics in scenario.items()}


def direction_of(metric: str) -> Direction:
    """Which way is better: as for raggate's metric of the name, with or without `_at_k`; more where it has none."""
    shared = _shared(metric)
    return shared.direction if shared else "higher"


def metric_names(table: Table) -> set[str]:
    """Name every metric of a table."""
    return {metric for buckets in table.values() for bucket in buckets.values() for metric in bucket}


def undirected(comparison: Comparison) -> tuple[str, ...]:
    """Name the metrics that are taken to be better where they are more, as raggate has none of their name."""
    names = {row.metric for row in comparison.rows} | {limit.metric for limit in comparison.limits}
    return () if comparison.policy.as_written else tuple(sorted(name for name in names if _shared(name) is None))


def _shared(metric: str) -> Metric | None:
    return METRICS.get(metric) or METRICS.get(re.sub(r"_at_\d+$", "", metric))


def report(comparison: Comparison, timestamp: str, *, baseline: Path, current: Path) -> dict[str, Any]:
    """Return the content of `comparison.json`: their keys in their order, then raggate's."""
    by_status: dict[str, list[dict[str, Any]]] = {"REGRESSED": [], "IMPROVED": [], "OK": [], "TOO FEW": []}
    for row in map(as_dict, comparison.rows):
        by_status[row.pop("status")].append(row)
    return {
        "timestamp": timestamp,
        "baseline_path": str(baseline),
        "current_path": str(current),
        "threshold": comparison.policy.threshold,
        "regressions": by_status["REGRESSED"],
        "improvements": by_status["IMPROVED"],
        "unchanged": by_status["OK"],
        "passed": comparison.exit_code is ExitCode.PASS,
        "too_few": by_status["TOO FEW"],
        "vanished": list(comparison.vanished),
        "shrunk": list(comparison.shrunk),
        "added": list(comparison.added),
        "limits": [as_dict(limit) for limit in comparison.limits],
        "exit_code": int(comparison.exit_code),
    }


def _rows(baseline: Table, current: Table, policy: Policy) -> Iterator[Row]:
    for mode in sorted(baseline.keys() & current.keys()):
        for name in sorted(baseline[mode].keys() & current[mode].keys()):
            before, now = baseline[mode][name], current[mode][name]
            few = not policy.as_written and min(_count(before), _count(now)) < policy.min_count
            for metric in sorted((before.keys() & now.keys()) - {COUNT}):
                old, new = before[metric], now[metric]
                if old is None or new is None:
                    continue
                threshold = 0.0 if policy.strict else policy.thresholds.get(metric, policy.threshold)
                yield Row(
                    mode=mode,
                    difficulty=name,
                    metric=metric,
                    baseline=old,
                    current=new,
                    delta=new - old,
                    threshold=threshold,
                    status="TOO FEW" if few else _status(metric, new - old, threshold, policy),
                )


def _status(metric: str, delta: float, threshold: float, policy: Policy) -> Status:
    gained = oriented("higher" if policy.as_written else direction_of(metric), delta)
    boundary = threshold if policy.as_written else threshold + EPSILON
    # written so that a NaN, which no comparison is true of, ends up as bad
    if not gained >= -boundary:
        return "REGRESSED"
    return "IMPROVED" if gained > boundary else "OK"


def _only_in(first: Table, second: Table) -> Iterator[str]:
    """Name the values of the first side that the second does not have; a whole bucket or mode by its name alone.

    A count is one of them: without it nobody can tell how many queries a bucket still is of.
    """
    for mode, buckets in first.items():
        if mode not in second:
            yield mode
            continue
        for name, bucket in buckets.items():
            if name not in second[mode]:
                yield f"{mode}/{name}"
                continue
            other = second[mode][name]
            for metric, value in bucket.items():
                if value is not None and other.get(metric) is None:
                    yield f"{mode}/{name}/{metric}"


def _shrunk(baseline: Table, current: Table) -> Iterator[str]:
    for mode in baseline.keys() & current.keys():
        for name in baseline[mode].keys() & current[mode].keys():
            before, now = baseline[mode][name].get(COUNT), current[mode][name].get(COUNT)
            if before is not None and now is not None and now < before:
                yield f"{mode}/{name}: {now:g} queries, {before:g} in the baseline"


def _count(bucket: Bucket) -> float:
    """Return how many queries a bucket is of; a file that does not say is not held against the bucket."""
    count = bucket.get(COUNT)
    return float("inf") if count is None else count


def _is_levelled(sides: tuple[Table, Table], flat: tuple[bool, bool]) -> bool:
    """Whether one side's shape has no `overall` and the other's does, so that only difficulties can be compared."""
    has_overall = [any(OVERALL in buckets for buckets in side.values()) for side in sides]
    unable = any(shape and not present for shape, present in zip(flat, has_overall, strict=True))
    every = [buckets for side in sides for buckets in side.values()]
    return unable and has_overall[0] != has_overall[1] and all(buckets.keys() - {OVERALL} for buckets in every)


def _without_overall(table: Table) -> Table:
    return {
        mode: {name: bucket for name, bucket in buckets.items() if name != OVERALL} for mode, buckets in table.items()
    }
