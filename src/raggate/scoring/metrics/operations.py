"""Operational metrics of a whole run: how the calls went, how long they took, what the index covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil, fsum

from raggate.models.run import Failure, Response, Result
from raggate.models.scorecard import Direction, MetricValue, Operations
from raggate.scoring.metrics.documents import coverage_by_document_type
from raggate.text.jsonio import JsonObject


def operations(results: Sequence[Result], *, retrieval_only: bool = False) -> Operations:
    """Summarise all calls of a run. Rates divide by all calls; a rate that cannot apply is None.

    Args:
        results: the calls.
        retrieval_only: whether no answers were asked for, so that those that came are counted.
    """
    responses = [result.response for result in results if result.response is not None]
    failures = Counter(result.failure.kind for result in results if result.failure is not None)
    coverage = next((response.coverage for response in reversed(responses) if response.coverage), None)
    with_answer = [response for response in responses if response.answer is not None]
    calls = len(results)
    rates = {
        "error_rate": _rate(sum(failures.values()), calls),
        "timeout_rate": _rate(failures["timeout"], calls),
        "empty_result_rate": _rate(_count(responses, lambda response: not response.chunks), calls),
        "empty_response_rate": _rate(
            _count(with_answer, lambda response: not (response.answer or "").strip()), calls if with_answer else 0
        ),
    }
    unasked = _count(responses, lambda response: response.unasked)
    rates["unasked_answer_rate"] = _rate(unasked, calls if retrieval_only else 0)
    rates.update(_coverage_rates(coverage or {}))
    return Operations(
        calls=calls,
        failed=sum(failures.values()),
        rates=rates,
        retries=sum(result.retries for result in results),
        latency=_latency(results),
        coverage=coverage,
        failures=dict(sorted(failures.items())),
        most_common_error=_most_common([result.failure for result in results if result.failure is not None]),
        document_types=coverage_by_document_type(results),
        cost=_cost(responses),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Give the nearest-rank percentile: the smallest value that at least `share` of all values do not exceed.

    Raises:
        ValueError: for no values.
    """
    if not values:
        raise ValueError("a percentile needs at least one value")
    return sorted(values)[max(ceil(share * len(values)), 1) - 1]


def _most_common(failures: Sequence[Failure]) -> str:
    """Give the most frequent message, the first of those that are equally frequent."""
    # calls that were given up only say so
    made = [failure.message for failure in failures if failure.kind != "aborted"]
    most = Counter(made or [failure.message for failure in failures]).most_common(1)
    return most[0][0] if most else ""


def _latency(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Percentiles per step in milliseconds: `client_ms` as raggate saw it, the rest as the API reports it."""
    steps: dict[str, list[float]] = {}
    for result in results:
        if result.response is not None:
            steps.setdefault("client_ms", []).append(result.elapsed_ms)
            for step, value in result.response.latency.items():
                steps.setdefault(step, []).append(value)
    return {
        step: {"p50": percentile(values, 0.50), "p95": percentile(values, 0.95)}
        for step, values in sorted(steps.items())
    }


def _cost(responses: Sequence[Response]) -> dict[str, dict[str, float]]:
    """Sum and average each cost over the responses that tell it; what none of them tells is not there, and not 0."""
    costs: dict[str, list[float]] = {}
    for response in responses:
        for kind, value in response.cost.items():
            costs.setdefault(kind, []).append(value)
    return {
        kind: {"sum": fsum(values), "mean": fsum(values) / len(values), "n": len(values)}
        for kind, values in sorted(costs.items())
    }


def _coverage_rates(coverage: JsonObject) -> dict[str, MetricValue]:
    def share(part: str, whole: str) -> MetricValue:
        value, total = coverage.get(part), coverage.get(whole)
        counted = isinstance(value, int) and isinstance(total, int) and not isinstance(value, bool)
        return _rate(value, total) if counted else _rate(0, 0)  # type: ignore[arg-type]

    return {
        "no_chunks_rate": share("docs_with_0_chunks", "docs_processed"),
        "chunks_skipped_rate": share("chunks_skipped", "chunks_attempted"),
    }


def _count(responses: Sequence[Response], holds: Callable[[Response], bool]) -> int:
    return sum(holds(response) for response in responses)


def _rate(count: int, total: int, direction: Direction = "lower") -> MetricValue:
    return MetricValue(value=count / total if total else None, n=total, unscored=0, direction=direction)
