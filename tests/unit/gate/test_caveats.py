"""Added cases are told with how they stand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_baseline, make_case_score, make_comparison, make_metric, make_operations, make_scorecard
from raggate.config.gate_settings import Gate
from raggate.gate import caveats
from raggate.gate.caveats import warnings
from raggate.models.comparison import Comparison, GoldenChanges
from tables import each_row


def test_added_cases_that_miss_come_first() -> None:
    """Of added cases it is told whether their passage was found; those where it was not are named first."""
    now = make_scorecard(make_case_score("fine"), make_case_score("lost", rank=None))
    comparison = make_comparison(scorecard=now, golden=GoldenChanges(added=("fine", "lost", "never")))
    (told,) = [reason for reason in caveats.differences(comparison, Gate()) if reason.code == "added-cases"]
    assert told.message.endswith("lost (not found), fine (found at rank 1), never (not asked)")


Counts = dict[str, Any] | None


def comparison(now: Counts = None, before: Counts = None, **operations: Any) -> Comparison:
    """Build a comparison with these operations and counts of questions asked twice."""
    repeated, earlier = ({} if counts is None else {"repeated": counts} for counts in (now, before))
    made = make_operations(**{"calls": 59, **operations})
    scorecard = make_scorecard(make_case_score(), operations=made, fingerprint=repeated)
    held = make_baseline(make_scorecard(make_case_score(), fingerprint=earlier))
    return make_comparison(scorecard=scorecard, baseline=held)


def told(found: Comparison) -> dict[str, str]:
    """Return the warnings by code."""
    return {reason.code: reason.message for reason in warnings(found)}


def test_answers_that_nobody_asked_for_are_counted() -> None:
    """How many came, how long a model took for them, and what to set."""
    times = {"generation_ms": {"p50": 812.4, "p95": 1500.0}}
    rates = {"unasked_answer_rate": make_metric(49 / 59, 59, direction="lower")}
    (message,) = told(comparison(rates=rates, latency=times)).values()
    assert "generated an answer in 49 of 59 calls (generation p50 812 ms) although only retrieval" in message
    assert "costs what its language model costs" in message
    assert "stub" in message


@each_row(("median", "expected"), [(640.0, True), (100.0, True), (99.0, False), (0.0, False)])
def test_slow_folder_selection_may_be_a_model(median: float, expected: bool) -> None:
    """Choosing folders that takes as long as a language model does is told as what may be one."""
    found = told(comparison(latency={"folder_selection_ms": {"p50": median, "p95": 900.0}}))
    assert ("slow-folders" in found) == expected


@each_row(
    ("before", "now", "expected"),
    [
        (100.0, 299.9, False),
        (100.0, 300.0, True),
        (100.0, 290.0, False),
        (10.0, 59.0, False),
        (10.0, 60.0, True),
        (10.0, 61.0, True),
        (25.0, 74.9, False),
        (25.0, 75.0, True),
        (0.0, 50.0, True),
        (None, 900.0, False),
        ("text", 900.0, False),
        (-1.0, 900.0, False),
        (100.0, None, False),
    ],
)
def test_a_median_of_three_times_the_baselines_and_50_ms_more_is_slower(
    before: object, now: float | None, expected: bool
) -> None:
    """A warning needs both, and a number on both sides."""
    found = comparison(latency={} if now is None else {"client_ms": {"p50": now, "p95": 5000.0}})
    assert found.baseline is not None
    held = replace(found.baseline, provenance={} if before is None else {"median_ms": before})
    assert ("slower" in told(replace(found, baseline=held))) == expected


def test_slower_names_both_medians() -> None:
    """An API that takes 16 times as long is told by both medians, and by what else can be the reason."""
    found = comparison(latency={"client_ms": {"p50": 812.4, "p95": 5000.0}})
    assert found.baseline is not None
    held = replace(found.baseline, provenance={"median_ms": 50.8})
    assert told(replace(found, baseline=held))["slower"] == (
        "the median answer time is 812 ms, in the baseline it is 51 ms: "
        "the API got slower, or this machine is slower or busier"
    )


def test_calls_that_time_out_come_with_what_to_set() -> None:
    """The keys that make calls fewer at once or wait longer are named."""
    message = told(comparison(failed=2))["timeouts"]
    assert message.startswith("2 of 59 calls timed out")
    assert all(key in message for key in ("ask.concurrency", "ask.timeout"))


def test_one_call_that_is_made_again_is_an_accident() -> None:
    """A single hiccup is more than 2% of a suite of 24 calls, and not said to be often; two are."""
    assert "retried" not in told(comparison(calls=24, retries=1))
    assert "retried" in told(comparison(calls=24, retries=2))


def test_another_ranking_for_the_same_question_is_told() -> None:
    """The share stands beside that of the baseline's run, with the names of the questions."""
    now = {"asked": 10, "failed": 0, "differ": 4, "questions": ["q1 (hybrid)"]}
    message = told(comparison(now, {"asked": 10, "failed": 1, "differ": 3, "questions": []}))["not-deterministic"]
    assert message.startswith("asked twice, 4 of 10 questions came back with other chunks or in another order")
    assert "(3 of 9 in the baseline's run)" in message
    assert message.endswith("a difference of this size may be noise: q1 (hybrid)")


def test_a_second_call_that_fails_is_told() -> None:
    """It is no failed call of the run, and not hidden either."""
    found = told(comparison({"asked": 10, "failed": 2, "differ": 0, "questions": []}))
    assert found == {
        "repeat-failed": "2 of 10 questions got no answer when asked a second time, which no metric counts"
    }


def test_an_api_that_behaves_is_not_warned_of() -> None:
    """Nothing is said of one that answers in time, alike, and only what it is asked for."""
    rates = {"unasked_answer_rate": make_metric(0.0, 59, direction="lower")}
    times = {"generation_ms": {"p50": 0.0, "p95": 0.0}, "folder_selection_ms": {"p50": 1.0, "p95": 2.0}}
    assert told(comparison({"asked": 10, "failed": 0, "differ": 0}, rates=rates, latency=times)) == {}
