"""What is missing from a comparison, and what is not the same on both sides: codes of reasons, and their words."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_comparison,
    make_delta,
    make_golden,
    make_labelled,
    make_metric,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.config.gate_settings import Gate
from raggate.gate import completeness
from raggate.gate.completeness import obstacles
from raggate.gate.verdict import decide
from raggate.models.comparison import Comparison, Delta
from raggate.models.run import Run
from tables import each_row

GATE = Gate(metrics={"hit_at_5": 0.05})


def asked_of(*asked: tuple[str, str], modes: tuple[str, ...] = ("hybrid", "vector")) -> Run:
    """Build a run over q1, for every mode, and q2, for hybrid alone, which has results for some of them."""
    cases = {"q1": make_case("q1"), "q2": make_case("q2", modes=("hybrid",))}
    items = [make_labelled(cases[case], make_result(case, mode=mode)) for mode, case in asked]
    return make_run(*items, golden=make_golden(*cases.values()), fingerprint={"modes": modes})


def without_cases(deltas: tuple[Delta, ...] = (), before: int = 10, now: int = 10) -> Comparison:
    counts = {"hybrid": {"overall": before}}
    bare = make_scorecard(counts=counts, slices={"hybrid": {"overall": {"hit_at_5": make_metric(0.8, before)}}})
    return make_comparison(
        *deltas, baseline=make_baseline(bare), scorecard=make_scorecard(counts={"hybrid": {"overall": now}})
    )


def test_questions_without_a_result() -> None:
    """Every case is expected in the modes that it is for, and in no other."""
    assert completeness.not_asked(asked_of(("hybrid", "q1"), ("vector", "q1"))) == (("hybrid", "q2"),)
    assert completeness.not_asked(asked_of(("hybrid", "q1"), ("hybrid", "q2"), ("vector", "q1"))) == ()


@each_row("times", [2, 10**9, "3"])
def test_every_answer_of_a_question_is_expected(times: object) -> None:
    """A run that says that it asked twice lacks a question of which one answer is there; a wild number says nothing."""
    first, again = (make_labelled(result=make_result(repeat=repeat)) for repeat in (1, 2))
    once = make_run(first, fingerprint={"repeat": times, "modes": ["hybrid"]})
    assert completeness.not_asked(once) == ((("hybrid", "q1"),) if times == 2 else ())
    assert completeness.not_asked(replace(once, repeats=(again,))) == ()


@each_row(
    ("field", "before", "now", "said"),
    [
        (
            "rank",
            (1, 1),
            (0, 2),
            "the API returned rank (hybrid) in 1 of 1 answer of the baseline's run and in 0 of 2 now, so raggate "
            "cannot check what depends on it in 2 answers",
        ),
        (
            "rank",
            (98, 98),
            (120, 150),
            "the API returned rank (hybrid) in 98 of 98 answers of the baseline's run and in",
        ),
        # raggate may have found it by the id of a passage
        ("vault", (3, 3), (0, 3), "raggate knew each passage's vault (hybrid) in 3 of 3 answers"),
    ],
)
def test_a_field_that_answers_lack(field: str, before: tuple[int, int], now: tuple[int, int], said: str) -> None:
    """What answers no longer tell is said with how many did and do, as more may than before and more still lack it."""
    old, new = (make_scorecard(fingerprint={"fields": {"hybrid": {field: [*side]}}}) for side in (before, now))
    (told,) = completeness.lost_fields(make_comparison(scorecard=new, baseline=make_baseline(old)), GATE)
    assert told.message.startswith(said)


def test_a_baseline_without_cases_counts() -> None:
    """Of a baseline that tells no cases, only their number can shrink, and it is named by mode."""
    assert [reason.message for reason in completeness.fewer_cases(without_cases(before=10, now=9))] == [
        "mode hybrid was asked 9 questions, but 10 in the baseline"
    ]
    assert not [*completeness.fewer_cases(without_cases(before=10, now=10))]


def test_means_over_other_numbers_of_questions() -> None:
    """A mean over another number of questions than that of a baseline without cases cannot be compared."""
    other = replace(make_delta(0.8, 0.8), current=make_metric(0.8, 9))
    decided = decide(without_cases((other, make_delta(0.8, 0.8))), (), GATE)
    assert decided.outcome == "cannot tell"
    message = "hit@5 (hybrid) is a mean over 9 questions, but over 10 in the baseline"
    assert message in [reason.message for reason in decided.reasons if reason.code == "incomparable"]


FINGERPRINT = {"metrics_version": 1, "adapter": "ask", "k": 5, "retrieval_only": True, "cutoffs": [1, 3]}
NOW = make_scorecard(make_case_score(), fingerprint=FINGERPRINT)


@each_row(
    ("before", "reason"),
    [
        ({}, None),
        ({"fingerprint": {**FINGERPRINT, "cutoffs": [1], "index_version": "9"}}, None),
        ({"fingerprint": {}, "cases": ()}, None),
        ({"suite": ""}, None),
        ({"suite": "other"}, "the baseline is of suite 'other', this run of 'default'"),
        (
            {"fingerprint": {**FINGERPRINT, "k": 10}},
            "the number of passages requested (ask.k) changed: 10 in the baseline, 5 now",
        ),
        (
            {"fingerprint": {key: value for key, value in FINGERPRINT.items() if key != "k"}},
            "the number of passages requested (ask.k) changed: None in the baseline, 5 now",
        ),
        (
            {"fingerprint": {**FINGERPRINT, "cutoffs": [1, 3, 5, 10]}},
            "the baseline has cut-offs that score.k no longer has: 5, 10",
        ),
        (
            {"fingerprint": {**FINGERPRINT, "metrics_version": 0}},
            "the definitions of the metrics changed: 0 in the baseline, 1 now",
        ),
        ({"slices": {"bm25": {}}}, "no mode in common: bm25 in the baseline, hybrid now"),
        ({"slices": {}}, "no mode in common: none in the baseline, hybrid now"),
    ],
)
def test_obstacles(before: dict[str, Any], reason: str | None) -> None:
    """A run is compared with a baseline unless what the scores depend on differs, or is told on one side only."""
    assert obstacles(NOW, make_baseline(replace(NOW, **before))) == ((reason,) if reason else ())
