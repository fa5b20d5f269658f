"""A verdict on a comparison of kebab runs, which kebab itself does not give: a CompareReport in, a code and why out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from raggate.compat.kebab import LOWER_IS_BETTER, METRICS, TOLERANCE, flat
from raggate.errors import ExitCode

MAX_DROP = 0.05
MAX_ERROR_RATE = 0.02


@dataclass(frozen=True, slots=True)
class KebabVerdict:
    """The exit code and its reasons. They hold ids of queries, which are foreign text."""

    code: ExitCode
    reasons: tuple[str, ...]


def decide(report: Mapping[str, Any], *, max_drop: float = MAX_DROP) -> KebabVerdict:
    """Decide on run b.

    Args:
        report: a CompareReport with its `raggate` part.
        max_drop: the largest change for the worse of an aggregate, absolute.

    Returns:
        `CANNOT_TELL` when run b was not measured well enough, else `REGRESSION` when a question that was answered is
        not any more or an aggregate fell by more than allowed, else `CANNOT_TELL` when run b lacks what run a has,
        else `PASS`.
    """
    unmeasured = _unmeasured(report)
    if unmeasured:
        return KebabVerdict(ExitCode.CANNOT_TELL, tuple(unmeasured))
    worse = _regressions(report, max_drop)
    if worse:
        return KebabVerdict(ExitCode.REGRESSION, tuple(worse))
    missing = _missing(report)
    return KebabVerdict(ExitCode.CANNOT_TELL if missing else ExitCode.PASS, tuple(missing))


def _unmeasured(report: Mapping[str, Any]) -> list[str]:
    found = []
    for side in "ab":
        values = report[f"aggregate_{side}"]
        total, failed = values["total_queries"], values["failed_queries"]
        if not total:
            found.append(f"run {side} holds no query")
        elif failed / total > MAX_ERROR_RATE:
            found.append(f"{failed} of {total} queries of run {side} failed, at most {MAX_ERROR_RATE:.0%} may")
    matched = {row["query_id"] for row in report["per_query"]} - set(report["raggate"]["without_golden_query"])
    if not found and not matched - set(report["raggate"]["only_in_a"]) - set(report["raggate"]["only_in_b"]):
        found.append("no query of the golden set is in both runs")
    return found


def _regressions(report: Mapping[str, Any], max_drop: float) -> list[str]:
    found = [
        f"{row['query_id']}: {row['note'] or 'worse'}"
        for row in report["per_query"]
        if row["kind"] == "regression" or (row["a_hit_rank"] is not None and row["b_hit_rank"] is None)
    ]
    deltas = {name: report["deltas"][name] for name in METRICS if name not in report["raggate"]["not_comparable"]}
    for name, change in flat(deltas).items():
        if change is not None:
            worse = change if name in LOWER_IS_BETTER else -change
            if worse > max_drop + TOLERANCE:
                found.append(f"{name} is worse by {worse:.4f}, allowed is {max_drop:g}")
    return found


def _missing(report: Mapping[str, Any]) -> list[str]:
    gone = report["raggate"]["only_in_a"]
    found = [f"{len(gone)} queries of run a are not in run b, the first is {gone[0]}"] if gone else []
    after = flat(report["aggregate_b"])
    found += [
        f"{name} has a value in run a and none in run b"
        for name, value in flat(report["aggregate_a"]).items()
        if value is not None and after.get(name) is None
    ]
    return found
