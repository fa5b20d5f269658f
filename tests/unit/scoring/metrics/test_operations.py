"""Operational metrics: the denominators of rates, percentiles, and what the index covers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from builders import make_chunk, make_failure, make_metric, make_response, make_result
from raggate.models.run import Result
from raggate.models.scorecard import MetricValue, Operations
from raggate.scoring.metrics.operations import Calls
from tables import each_row


def operations(results: Iterable[Result]) -> Operations:
    """Summarise all calls of a run."""
    calls = Calls()
    for result in results:
        calls.add(result)
    return calls.summary(retrieval_only=False)


def answered(answer: str | None = "yes", **fields: Any) -> Result:
    """Build a result with one chunk and an answer."""
    return make_result(response=make_response(make_chunk(), answer=answer, **fields))


EMPTY = make_result(response=make_response(answer="no idea"))


def failed(kind: str = "timeout", **fields: Any) -> Result:
    """Build the result of a failed call."""
    return make_result(failure=make_failure(kind), **fields)


def rate(count: int, total: int) -> MetricValue:
    """Build the rate of `count` in `total`."""
    return make_metric(count / total, total, direction="lower")


UNKNOWN = make_metric(None, 0, direction="lower")


@each_row(
    ("name", "results", "expected"),
    [
        # 2 of 4 calls failed, one of them in time
        pytest.param(
            "error_rate", [answered(), answered(), failed(), failed("status")], rate(2, 4), id="errors of all calls"
        ),
        pytest.param(
            "timeout_rate", [answered(), answered(), failed(), failed("status")], rate(1, 4), id="timeouts of all calls"
        ),
        pytest.param("error_rate", [], UNKNOWN, id="no calls"),
        # a failed call is in the denominator, but came back neither empty nor full
        pytest.param("empty_result_rate", [answered(), EMPTY, EMPTY, failed()], rate(2, 4), id="no chunks"),
        pytest.param(
            "empty_response_rate", [answered(), answered(" \n"), answered(""), failed()], rate(2, 4), id="blank answers"
        ),
        pytest.param("empty_response_rate", [answered(None), answered(None)], UNKNOWN, id="no answer was asked for"),
        pytest.param("empty_response_rate", [failed()], UNKNOWN, id="no answer came back"),
    ],
)
def test_rate(name: str, results: list[Result], expected: MetricValue) -> None:
    """A rate is a share of all calls, and null where it cannot apply."""
    assert operations(results).rates[name] == expected


@each_row(
    ("coverage", "no_chunks", "skipped"),
    [
        pytest.param(
            {"docs_processed": 8, "docs_with_0_chunks": 2, "chunks_attempted": 40, "chunks_skipped": 1},
            rate(2, 8),
            rate(1, 40),
            id="both",
        ),
        pytest.param({"docs_processed": 0, "docs_with_0_chunks": 0}, UNKNOWN, UNKNOWN, id="no documents"),
        pytest.param({"docs_processed": "8", "docs_with_0_chunks": 2}, UNKNOWN, UNKNOWN, id="text for a number"),
        pytest.param(None, UNKNOWN, UNKNOWN, id="the API does not tell"),
    ],
)
def test_coverage_rates(coverage: dict[str, Any] | None, no_chunks: MetricValue, skipped: MetricValue) -> None:
    """Coverage rates are the API's own counts divided, and null where it does not give them."""
    rates = operations([answered(coverage=coverage)]).rates
    assert (rates["no_chunks_rate"], rates["chunks_skipped_rate"]) == (no_chunks, skipped)


def test_last_coverage_counts() -> None:
    """What the API said last of its index is what counts; failed calls and silent answers do not hide it."""
    results = [answered(coverage={"docs_processed": n}) for n in (1, 2)]
    assert operations([*results, answered(), failed()]).coverage == {"docs_processed": 2}


def test_counts() -> None:
    """Calls, failures by kind and retries are summed over all results."""
    summary = operations([answered(), failed("status", retries=2), failed("body", retries=1), failed("status")])
    assert (summary.calls, summary.failed, summary.retries) == (4, 3, 3)
    assert summary.failures == {"body": 1, "status": 2}
    assert list(summary.failures) == ["body", "status"]


def test_latency() -> None:
    """Every step has percentiles of its own, over the answered calls that report it; a failed call took no time."""
    results = [
        make_result(response=make_response(latency={"retrieval_ms": 5.0} if ms > 10 else {}), elapsed_ms=ms)
        for ms in (30.0, 10.0)
    ]
    latency = operations([*results, failed(elapsed_ms=60_000.0)]).latency
    assert latency == {"client_ms": {"p50": 10, "p95": 30}, "retrieval_ms": {"p50": 5, "p95": 5}}


@each_row(
    ("values", "p50", "p95"),
    [
        pytest.param([3, 1, 2], 2, 3, id="the middle of three: rank 1.5 rounded up"),
        pytest.param([4, 3, 2, 1], 2, 4, id="the lower middle of four: rank 2"),
        pytest.param(range(1, 21), 10, 19, id="rank 19 of 20"),
        pytest.param(range(1, 22), 11, 20, id="rank 19.95 of 21 rounded up"),
    ],
)
def test_percentiles(values: list[float], p50: float, p95: float) -> None:
    """A percentile is one of the values: the nearest rank, rounded up."""
    told = operations([make_result(response=make_response(), elapsed_ms=ms) for ms in values])
    assert told.latency == {"client_ms": {"p50": p50, "p95": p95}}


@each_row(
    ("messages", "expected"),
    [
        pytest.param([], "", id="none failed"),
        pytest.param(["status a", "status b", "status b"], "b", id="most"),
        pytest.param(["status a", "body b"], "a", id="the first of as many"),
        pytest.param(["aborted gave up", "aborted gave up", "status a"], "a", id="not those that were given up"),
        pytest.param(["aborted gave up"], "gave up", id="unless there are no others"),
    ],
)
def test_what_most_failures_said(messages: list[str], expected: str) -> None:
    """The most frequent message of the failed calls is kept."""
    parts = [message.partition(" ") for message in messages]
    failures = [make_failure(kind, message=message) for kind, _, message in parts]
    assert (
        operations([answered(), *(make_result(failure=failure) for failure in failures)]).most_common_error == expected
    )


def test_cost_of_the_responses_that_have_one() -> None:
    """A cost is added up and averaged over the responses that tell it; one that none of them tells is not there."""
    results = [
        answered(cost={"judge_tokens": 100, "judge_cost_usd": 0.1}),
        answered(cost={"judge_tokens": 300}),
        answered(),
        failed(),
    ]
    assert operations(results).cost == {
        "judge_cost_usd": {"sum": 0.1, "mean": 0.1, "n": 1},
        "judge_tokens": {"sum": 400, "mean": 200, "n": 2},
    }
    assert operations([answered(), failed()]).cost == {}
