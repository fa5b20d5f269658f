"""The composite: which questions have a score on both sides, and which score."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from builders import make_baseline, make_case_score, make_comparison, make_scorecard
from raggate.base.errors import UsageError
from raggate.config.gate_settings import Gate
from raggate.gate.evidence import ScoredPair, check_names, paired_scores
from raggate.models.comparison import Comparison
from raggate.models.scorecard import CaseScore
from tables import each_row

METRICS = ("hit_at_5", "mrr_at_10", "scope_miss_rate")


def compared(old: CaseScore, new: CaseScore, **fields: object) -> Comparison:
    baseline = make_baseline(make_scorecard(old), **fields)
    return make_comparison(baseline=baseline, scorecard=make_scorecard(new))


def pair_of(before: dict[str, float | None], after: dict[str, float | None]) -> ScoredPair | None:
    pairs = paired_scores(compared(make_case_score(values=before), make_case_score(values=after)), "hybrid", METRICS)
    return pairs[0] if pairs else None


def test_score_is_the_mean_of_the_metrics() -> None:
    """A score is the mean of the metrics that apply; of a metric of which less is better, 1 - value counts."""
    pair = pair_of(
        {"hit_at_5": 1.0, "mrr_at_10": 0.5, "scope_miss_rate": 0.0},
        {"hit_at_5": 1.0, "mrr_at_10": 0.2, "scope_miss_rate": 1.0},
    )
    assert pair is not None
    assert (pair.before, pair.after, pair.fell) == (
        pytest.approx(2.5 / 3),
        pytest.approx(0.4),
        ("mrr_at_10", "scope_miss_rate"),
    )


def test_points_count_as_shares_of_the_highest() -> None:
    """A judge's 4 and 1 of 5 points weigh as 0.8 and 0.2, and not more than everything else together."""
    old = make_case_score(values={"hit_at_5": 1.0, "groundedness": 4.0})
    new = make_case_score(values={"hit_at_5": 1.0, "groundedness": 1.0})
    (pair,) = paired_scores(compared(old, new), "hybrid", ("hit_at_5", "groundedness"))
    assert (pair.before, pair.after) == (pytest.approx(0.9), pytest.approx(0.6))


def test_a_value_that_is_gone_is_the_worst() -> None:
    """An API that tells less than before does not get better by it."""
    pair = pair_of({"hit_at_5": 1.0, "scope_miss_rate": 0.0}, {"hit_at_5": 1.0, "scope_miss_rate": None})
    assert pair is not None
    assert (pair.before, pair.after) == (1.0, 0.5)


def test_question_without_an_answer() -> None:
    """To a question that nothing answers none of the metrics applies: whether the API abstains is its score."""
    pair = pair_of({"hit_at_5": None, "abstention_accuracy": 1.0}, {"hit_at_5": None, "abstention_accuracy": 0.0})
    assert pair is not None
    assert (pair.before, pair.after, pair.fell) == (1.0, 0.0, ("abstention_accuracy",))


def test_questions_that_are_left_out() -> None:
    """A question that is asked otherwise, is waived, or has no value on either side has no score."""
    case = make_case_score()
    same = compared(case, case)
    assert len(paired_scores(same, "hybrid", METRICS)) == 1
    assert not paired_scores(same, "lexical", METRICS)
    assert not paired_scores(same, "hybrid", METRICS, frozenset({("hybrid", "q1")}))
    assert not paired_scores(compared(case, replace(case, hash="other")), "hybrid", METRICS)
    assert not paired_scores(compared(case, replace(case, case_id="q2")), "hybrid", METRICS)
    assert not paired_scores(same, "hybrid", ("ndcg_at_10",))
    assert not paired_scores(make_comparison(scorecard=make_scorecard(case)), "hybrid", METRICS[2:])
    assert not paired_scores(replace(same, incomparable=("another adapter",)), "hybrid", METRICS)


def test_names_are_checked() -> None:
    """A metric that is not computed is named with its place; the default may name more than a configuration scores."""
    known = ["hit_at_1", "mrr_at_1"]
    check_names(Gate(), known, [1], "raggate.yml")
    check_names(Gate(composite=["hit_at_1"]), known, [1], "raggate.yml")
    with pytest.raises(UsageError) as caught:
        check_names(Gate(composite=["hit_at_1", "hit_at_5"]), known, [1], "raggate.yml")
    assert caught.value.message == "raggate.yml: gate.composite[1]: no metric 'hit_at_5' at the cut-offs [1]"
    assert caught.value.hint == "Known: hit_at_1, mrr_at_1."


@each_row(("metric", "why"), [("groundedness", "is given by judges"), ("context_chars_at_1", "is an amount")])
def test_values_of_other_scales_are_no_part_of_it(metric: str, why: str) -> None:
    """Grades and amounts have other scales, and are refused with a word on what to do instead."""
    with pytest.raises(UsageError) as caught:
        check_names(Gate(composite=["hit_at_1", metric]), ["hit_at_1", metric], [1], "raggate.yml")
    assert caught.value.message.startswith(f"raggate.yml: gate.composite[1]: {metric} {why}")
    assert caught.value.hint == "Remove it here, and gate it by its own tolerance in gate.metrics."
