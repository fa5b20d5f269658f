"""A verdict on a comparison of kebab runs, which kebab itself does not give: a CompareReport in, a code and why out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from raggate.errors import ExitCode
from raggate.text.numbers import counted, fixed, percent, setting
from raggate_interop.kebab.metrics import ANSWER_LEVEL, LOWER_IS_BETTER, METRICS, TOLERANCE, flat

MAX_DROP = 0.05
MAX_ERROR_RATE = 0.02


class KebabVerdict(Struct, frozen=True):
    """The exit code and its reasons. They hold ids of queries, which are foreign text."""

    code: ExitCode
    reasons: tuple[str, ...]


def decide(report: Mapping[str, Any], *, max_drop: float = MAX_DROP) -> KebabVerdict:
    """Decide on run b.

    Args:
        report: a CompareReport with its `raggate` part.
        max_drop: the largest change for the worse of an aggregate, absolute.

    Returns:
        `CANNOT_TELL` when run b was not measured well enough or no label can be matched, else `REGRESSION` when a
        question that was answered is not any more or an aggregate of the common queries fell by more than allowed, else
        `CANNOT_TELL` when run b lacks what run a has, was asked in other words or some labels cannot be matched, else
        `PASS`.
    """
    unmeasured = _unmeasured(report)
    if unmeasured:
        return KebabVerdict(ExitCode.CANNOT_TELL, tuple(unmeasured))
    worse, missing = _regressions(report, max_drop), _missing(report, max_drop)
    if worse:
        return KebabVerdict(ExitCode.REGRESSION, (*worse, *missing))
    return KebabVerdict(ExitCode.CANNOT_TELL if missing else ExitCode.PASS, tuple(missing))


def _unmeasured(report: Mapping[str, Any]) -> list[str]:
    reasons = []
    for side in "ab":
        values = report[f"aggregate_{side}"]
        total, failed = values["total_queries"], values["failed_queries"]
        if not total:
            reasons.append(f"run {side} has no query")
        elif failed / total > MAX_ERROR_RATE:
            reasons.append(f"{failed} of {total} queries of run {side} failed, at most {percent(MAX_ERROR_RATE)} may")
    common = report["raggate"]["common"]
    if reasons:
        return reasons
    if not common["queries"]:
        return ["no query of the golden set is in both runs"]
    if common["matched"] or any(_applies(common, name) for name in ANSWER_LEVEL):
        return []
    if common["unmatchable"]:
        return [_unmatchable(common)]
    none = f"none of the {common['queries']} queries that are in both runs has a label"
    which = "the one query that is in both runs has no label" if common["queries"] == 1 else none
    return [f"{which}, and no answer can be judged"]


def _regressions(report: Mapping[str, Any], max_drop: float) -> list[str]:
    extras = report["raggate"]
    common = extras["common"]
    # what run b was not asked is no miss of it
    absent = frozenset(extras["only_in_a"])
    reasons = [
        f"{row['query_id']}: {row['note'] or 'worse'}"
        for row in report["per_query"]
        if row["query_id"] not in absent
        and (row["kind"] == "regression" or (row["a_hit_rank"] is not None and row["b_hit_rank"] is None))
    ]
    gated = [name for name in METRICS if name not in extras["not_comparable"] and _applies(common, name)]
    changes = flat({name: common["deltas"][name] for name in gated})
    changes |= {f"{name} of the matched hits": change for name, change in flat(common["fallback_deltas"]).items()}
    for name, change in changes.items():
        if change is not None:
            worse = change if name in LOWER_IS_BETTER else -change
            if worse > max_drop + TOLERANCE:
                reasons.append(f"{name} is worse by {fixed(worse, 4)}, allowed is {setting(max_drop)}")
    return reasons


def _missing(report: Mapping[str, Any], max_drop: float) -> list[str]:
    common = report["raggate"]["common"]
    reasons = []
    for names, one, several in (
        (report["raggate"]["only_in_a"], "query of run a is not in run b", "queries of run a are not in run b"),
        (
            common["unanswered"],
            "query has an answer in run a and none in run b",
            "queries have an answer in run a and none in run b",
        ),
        (common["one_rank"], "query has several hits of one rank", "queries have several hits of one rank"),
        (
            common["reworded"],
            "query was asked in other words than in run a",
            "queries were asked in other words than in run a",
        ),
    ):
        if names:
            reasons.append(f"{counted(len(names), one, several)}, the first is {names[0]}")
    if common["unmatchable"]:
        reasons.append(_unmatchable(common))
    for name in METRICS:
        before, now = common["counts_a"][name], common["counts_b"][name]
        if before and not now:
            reasons.append(f"{name} has a value in run a and none in run b")
        elif not common["unanswered"] and now < before * (1 - max_drop - TOLERANCE):
            # answers that are refused are in no mean of those that are given
            reasons.append(f"{name} is a mean of {counted(now, 'answer')} in run b, of {before} in run a")
    return reasons


def _applies(common: Mapping[str, Any], name: str) -> bool:
    return bool(common["counts_a"][name] and common["counts_b"][name])


def _unmatchable(common: Mapping[str, Any]) -> str:
    names = common["unmatchable"]
    return (
        f"{len(names)} of {common['queries']} queries have expected_chunk_ids alone, which cannot be matched when "
        f"chunkers differ: add expected_doc_ids; the first is {names[0]}"
    )
