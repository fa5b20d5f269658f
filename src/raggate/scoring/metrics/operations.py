"""Operational metrics of a whole run: how the calls went, how long they took, what the index covers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from math import ceil, fsum

from raggate.base.jsonio import JsonObject
from raggate.models.run import FailureKind, Response, Result
from raggate.models.scorecard import MetricValue, Operations
from raggate.scoring.metrics.documents import DocumentTypes


class Calls:
    """Counts the calls of a run one by one. Rates divide by all calls; a rate that cannot apply is None."""

    def __init__(self) -> None:
        self._calls = self._retries = 0
        self._counts: Counter[str] = Counter()
        self._failures: Counter[FailureKind] = Counter()
        # calls that were given up only say so
        self._messages: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        self._coverage: JsonObject | None = None
        self._times: dict[str, array[float]] = {}
        self._costs: dict[str, array[float]] = {}
        self._types = DocumentTypes()

    def add(self, result: Result) -> None:
        """Count one more call."""
        self._calls += 1
        self._retries += result.retries
        if result.failure is not None:
            self._failures[result.failure.kind] += 1
            self._messages[result.failure.kind != "aborted"][result.failure.message] += 1
        if result.response is not None:
            self._add_response(result.response)
            self._times.setdefault("client_ms", array("d")).append(result.elapsed_ms)
            self._add_amounts(result.response)

    def _add_response(self, response: Response) -> None:
        self._counts["empty"] += not response.chunks
        self._counts["unasked"] += response.unasked
        if response.answer is not None:
            self._counts["answers"] += 1
            self._counts["blank"] += not response.answer.strip()
        self._coverage = response.coverage or self._coverage
        self._types.add(response)

    def _add_amounts(self, response: Response) -> None:
        for told, totals in ((response.latency, self._times), (response.cost, self._costs)):
            for name, value in told.items():
                totals.setdefault(name, array("d")).append(value)

    def summary(self, *, retrieval_only: bool) -> Operations:
        """Summarise the calls."""
        calls, counts, failures = self._calls, self._counts, self._failures
        rates = {
            "error_rate": _rate(failures.total(), calls),
            "timeout_rate": _rate(failures["timeout"], calls),
            "empty_result_rate": _rate(counts["empty"], calls),
            "empty_response_rate": _rate(counts["blank"], calls if counts["answers"] else 0),
            "unasked_answer_rate": _rate(counts["unasked"], calls if retrieval_only else 0),
        }
        most = (self._messages[True] or self._messages[False]).most_common(1)
        return Operations(
            calls=calls,
            failed=failures.total(),
            rates={**rates, **_coverage_rates(self._coverage or {})},
            retries=self._retries,
            latency={step: _percentiles(values) for step, values in sorted(self._times.items())},
            coverage=self._coverage,
            failures={kind: count for kind, count in sorted(failures.items()) if count},
            most_common_error=most[0][0] if most else "",
            document_types=self._types.counts(),
            cost={kind: _amounts(values) for kind, values in sorted(self._costs.items())},
        )


def _nearest_rank(ascending: Sequence[float], share: float) -> float:
    """Return the percentile: the smallest value that at least this share of all values do not exceed."""
    return ascending[max(ceil(share * len(ascending)), 1) - 1]


def _percentiles(values: array[float]) -> dict[str, float]:
    """Percentiles of a step in milliseconds: `client_ms` is as raggate saw it, the rest as the API reports it."""
    ascending = sorted(values)
    return {"p50": _nearest_rank(ascending, 0.50), "p95": _nearest_rank(ascending, 0.95)}


def _amounts(values: Sequence[float]) -> dict[str, float]:
    """Sum and average a cost over the responses that tell it; what none of them tells is not there, and not 0."""
    return {"sum": fsum(values), "mean": fsum(values) / len(values), "n": len(values)}


def _coverage_rates(coverage: JsonObject) -> dict[str, MetricValue]:
    def share(part: str, whole: str) -> MetricValue:
        value, total = coverage.get(part), coverage.get(whole)
        counted = isinstance(value, int) and isinstance(total, int) and not isinstance(value, bool)
        return _rate(value, total) if counted else _rate(0, 0)  # type: ignore[arg-type]

    return {
        "no_chunks_rate": share("docs_with_0_chunks", "docs_processed"),
        "chunks_skipped_rate": share("chunks_skipped", "chunks_attempted"),
    }


def _rate(count: int, total: int) -> MetricValue:
    return MetricValue(value=count / total if total else None, n=total, unscored=0, direction="lower")
