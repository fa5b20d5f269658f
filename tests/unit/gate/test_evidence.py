"""The evidence: one test of the composite for each mode, and what so many questions could have shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_comparison,
    make_labelled,
    make_ranked_run,
    make_response,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.config.gate_settings import Gate
from raggate.gate.compare import compare
from raggate.gate.evidence import (
    composite_tests,
    harmless_red,
    holm,
    large,
    metric_chances,
    paired_scores,
    sight,
    significant,
)
from raggate.gate.statistics.mcnemar import unconditional
from raggate.gate.verdict import decide
from raggate.models.comparison import Comparison
from raggate.models.run import Run
from raggate.models.scorecard import CaseScore, Scorecard
from raggate.models.verdict import CompositeTest
from raggate.scoring.score import score
from tables import each_row

METRICS = {"hybrid": ("hit_at_5", "mrr_at_10", "ndcg_at_10")}
Ranks = Sequence[int | None]
Groups = Sequence[str | None]


@lru_cache(maxsize=64)
def measured(ranks: tuple[int | None, ...], groups: tuple[str | None, ...]) -> tuple[Run, Scorecard]:
    """Measure a run of questions by their ranks, and score it: many tests begin with the same."""
    run = make_ranked_run(*ranks, groups=groups)
    return run, score(run, (1, 5, 10))


def compared(before: Ranks, after: Ranks, groups: Groups | None = None) -> Comparison:
    filed = tuple(groups or [None] * len(before))
    (_, old), (run, new) = (measured(tuple(ranks), filed) for ranks in (before, after))
    return compare(run, new, make_baseline(old))


def composite_test(before: Ranks, after: Ranks, groups: Groups | None = None) -> CompositeTest:
    (test,) = composite_tests(compared(before, after, groups), METRICS)
    return test


@each_row(
    ("before", "after", "p", "name", "red"),
    [
        pytest.param([1] * 40, [None] * 3 + [1] * 37, 0.0498, "exact unconditional McNemar", False, id="3-of-40-lost"),
        pytest.param([1] * 20, [None] * 3 + [1] * 17, 0.0510, "exact unconditional McNemar", False, id="3-of-20-lost"),
        pytest.param([1] * 20, [None] * 4 + [1] * 16, 0.0247, "exact unconditional McNemar", True, id="4-of-20-lost"),
        pytest.param([1] * 50, [2] * 3 + [1] * 44 + [3] * 3, 0.0069, "paired t", True, id="ranks-slip"),
        pytest.param(
            [3] * 10 + [1] * 15,
            [None] * 3 + [3] * 7 + [2] * 2 + [1] * 13,
            0.0312,
            "exact sign-flip and paired t",
            True,
            id="few-of-several-sizes",
        ),
        pytest.param([1] * 400, [2] * 9 + [1] * 391, 0.0013, "exact unconditional McNemar", False, id="below-2-points"),
    ],
)
def test_what_decides(before: Ranks, after: Ranks, p: float, name: str, *, red: bool) -> None:
    """Which test speaks follows from the data; its p is that of an independent implementation, to four digits."""
    test = composite_test(before, after)
    assert (test.p, test.test, significant(test.p, test.drop)) == (pytest.approx(p, abs=1e-4), name, red)


def test_a_metric_may_fall_more_than_the_score() -> None:
    """The drop is that of the metric that fell most: one that only the last ranks lose is not watered down."""
    test = composite_test([5] * 50, [6] * 5 + [5] * 45)
    assert test.drop == pytest.approx(0.1)
    assert test.before - test.after == pytest.approx(
        (0.1 + 0.1 * (1 / 5 - 1 / 6) + 0.1 * (0.3869 - 0.3562)) / 3, abs=1e-4
    )


def test_questions_of_one_group_are_one_unit() -> None:
    """Four questions of one note that are lost together are one loss: not even suspicious."""
    alone = composite_test([1] * 40, [None] * 4 + [1] * 36)
    grouped = composite_test([1] * 40, [None] * 4 + [1] * 36, groups=[f"note {n // 4}" for n in range(40)])
    assert (alone.units, significant(alone.p, alone.drop)) == (40, True)
    assert (grouped.units, grouped.cases, grouped.p) == (10, 40, pytest.approx(0.2736, abs=1e-4))
    assert grouped.visible_drop > alone.visible_drop


def test_what_can_be_seen() -> None:
    """The smallest visible drop shrinks with more questions, and grows with moves both ways; a loss alone adds none."""
    still = composite_test([1] * 100, [1] * 100)
    churned = composite_test([1, 2] * 50, [2, 1] * 5 + [1, 2] * 45)
    lost = composite_test([1] * 100, [None] * 9 + [1] * 91)
    assert (still.p, still.drop, still.fewest_losses) == (1.0, 0.0, 4)
    # Connor's formula without any moves both ways: n = (1.751 + 0.842 sqrt(1 - D))^2 / D
    assert still.visible_drop == pytest.approx(0.0657, abs=1e-4)
    # what warns is smaller: n = (0.8416 + 0.8416 sqrt(1 - D))^2 / D
    assert still.told_drop == pytest.approx(0.0279, abs=1e-4)
    assert churned.visible_drop > still.visible_drop
    assert lost.visible_drop == still.visible_drop
    assert composite_test([1] * 400, [1] * 400).visible_drop < still.visible_drop / 3


def of_two_modes(ranks: Ranks) -> Comparison:
    """Compare forty hits in each of two modes, one of which is as it was."""
    lexical = make_ranked_run(*[1] * 40, mode="lexical").results
    old, new = (make_run(*lexical, *make_ranked_run(*side).results) for side in ([1] * 40, ranks))
    return compare(new, score(new, (5, 10)), make_baseline(score(old, (5, 10))))


def test_modes_are_adjusted_together() -> None:
    """One mode of two that lost takes twice the evidence."""
    comparison = of_two_modes([None] * 3 + [1] * 37)
    tests = composite_tests(comparison, dict.fromkeys(("lexical", "hybrid"), METRICS["hybrid"]))
    assert [(test.mode, test.p, test.adjusted) for test in tests] == [
        ("lexical", 1.0, 1.0),
        ("hybrid", pytest.approx(0.0498, abs=1e-4), pytest.approx(0.0996, abs=1e-4)),
    ]


def test_metrics_alone_are_adjusted_for_all_of_them() -> None:
    """A test of one metric by itself pays for every metric of every mode that is tested so."""
    comparison = of_two_modes([6] * 3 + [1] * 37)
    metrics = ("hit_at_5", "hit_at_10")
    chances = metric_chances(comparison, dict.fromkeys(("lexical", "hybrid"), metrics))
    assert chances.pop(("hybrid", "hit_at_5")) == pytest.approx(4 * 0.0498, abs=4e-4)
    assert set(chances.values()) == {1.0}
    left_out = frozenset({("hybrid", "q000")})
    assert metric_chances(comparison, {"hybrid": metrics[:1]}, left_out) == {
        ("hybrid", "hit_at_5"): pytest.approx(unconditional(39, 2, 0))
    }


def test_a_metric_alone_is_tested_where_it_has_values() -> None:
    """A question whose value is gone is no loss of the metric itself; where less is better, a rise is one."""

    def card(graded: float | None, missed: float) -> Scorecard:
        return make_scorecard(
            *(make_case_score(f"q{n}", {"graded": graded if n < 6 else 4.0, "miss_rate": missed}) for n in range(12))
        )

    comparison = make_comparison(baseline=make_baseline(card(4.0, 0.0)), scorecard=card(None, 1.0))
    chances = metric_chances(comparison, {"hybrid": ("graded", "miss_rate")})
    assert chances == {("hybrid", "graded"): 1.0, ("hybrid", "miss_rate"): pytest.approx(2 * unconditional(12, 12, 0))}


def test_holm() -> None:
    """The smallest is multiplied by their number, the next by one less, and none comes out below one before it."""
    assert holm([]) == []
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def with_refusals(abstained: int, ranks: Ranks) -> Run:
    """Build a run of questions by their ranks, and of five that have no answer, of which so many are refused."""
    refusals = [
        make_labelled(
            make_case(f"n{number}", answerable=False, gold_supports=()),
            make_result(f"n{number}", response=make_response(abstained=number < abstained)),
        )
        for number in range(5)
    ]
    return make_run(*make_ranked_run(*ranks).results, *refusals)


def test_what_carried_it() -> None:
    """By part it is counted how many of the questions that got worse did so in it, refusals among them."""
    old, new = with_refusals(5, [1] * 20), with_refusals(2, [1] * 18 + [2, None])
    (test,) = composite_tests(compare(new, score(new, (5, 10)), make_baseline(score(old, (5, 10)))), METRICS)
    assert test.parts == {"hit_at_5": 1, "mrr_at_10": 2, "ndcg_at_10": 2, "abstention_accuracy": 3}
    assert test.moves == (
        "5 of 25 questions worse (abstention_accuracy in 3, mrr_at_10 in 2, ndcg_at_10 in 2, hit_at_5 in 1), 0 better"
    )


BIG = ["one note"] * 36 + [None] * 167


def test_a_group_that_holds_many_questions_hides_a_large_loss() -> None:
    """36 of 203 questions are one unit: that all of them are lost is no evidence, and the visible drop says so."""
    test = composite_test([1] * 203, [None] * 36 + [1] * 167, groups=BIG)
    assert (test.units, test.largest, test.lost, test.lost_units) == (168, 36, 36, 1)
    assert test.adjusted > 0.2
    assert test.visible_if_alike < 0.04 < test.before - test.after < test.visible_drop
    assert large(test)


@each_row(
    ("after", "groups"),
    [
        pytest.param([None] * 36 + [1] * 167, None, id="shown-by-the-test"),
        pytest.param([None] * 2 + [1] * 201, BIG, id="small"),
        pytest.param([1] * 203, BIG, id="none"),
    ],
)
def test_a_loss_that_is_small_or_shown_is_not_called_large(after: Ranks, groups: Groups | None) -> None:
    """What the test shows, and what is less than is usually seen, is no large loss without evidence."""
    assert not large(composite_test([1] * 203, after, groups))


def test_a_large_loss_that_is_not_red_is_in_the_first_sentence() -> None:
    """A group within a wide tolerance is not red, and the first sentence names its loss and why no test shows it."""
    comparison = compared([1] * 203, [None] * 36 + [1] * 167, groups=BIG)
    verdict = decide(comparison, (), Gate(tolerance=0.3))
    assert verdict.outcome == "pass"
    assert (
        "all questions together (hybrid) went from 1.0000 to 0.8227, but the test does not confirm it: the 36 "
        "that got worse are in 1 group, and a group counts as one question (p = 0."
    ) in verdict.headline


@each_row(
    ("units", "policy", "red", "told"),
    [
        # the tolerance is exceeded before the test shows it: D - 0.05 = 0.842 sqrt((D - D^2) / n)
        (24, "evidence", 0.2556, 0.1020),
        (24, "threshold", 0.1020, 0.1020),
        (200, "evidence", 0.0332, 0.02),
        (200, "threshold", 0.0646, 0.02),
        # of four questions no loss is significant: the tolerance is all there is
        (4, "evidence", 0.2260, 0.2260),
    ],
)
def test_what_a_policy_sees(units: int, policy: str, red: float, told: float) -> None:
    """A tolerance is seen exceeded as a warning, or as red by `threshold`; a drop of up to two points never is."""
    gate = Gate(policy=policy)
    assert sight([1] * units, 0.0, 1, gate.composite, gate) == (
        pytest.approx(red, abs=1e-4),
        pytest.approx(told, abs=1e-4),
    )


@each_row(("units", "policy", "odds"), [(24, "threshold", 0.25), (90, "threshold", 0.065), (24, "evidence", 0)])
def test_how_often_a_policy_is_red_for_nothing(units: int, policy: str, odds: float) -> None:
    """It is that of the simulated number of questions that is nearest."""
    assert harmless_red(units, policy) == odds
    assert harmless_red(500, "threshold") == 0


PARTS = ("hit_at_5", "mrr_at_10", "scope_miss_rate")


def both_sides(old: CaseScore, new: CaseScore, **fields: object) -> Comparison:
    baseline = make_baseline(make_scorecard(old), **fields)
    return make_comparison(baseline=baseline, scorecard=make_scorecard(new))


@each_row(
    ("before", "after", "scores", "fell"),
    [
        pytest.param(
            {"hit_at_5": 1.0, "mrr_at_10": 0.5, "scope_miss_rate": 0.0},
            {"hit_at_5": 1.0, "mrr_at_10": 0.2, "scope_miss_rate": 1.0},
            (2.5 / 3, 0.4),
            ("mrr_at_10", "scope_miss_rate"),
            id="the-mean-of-the-metrics-and-1-minus-a-rate",
        ),
        pytest.param(
            {"hit_at_5": 1.0, "groundedness": 4.0},
            {"hit_at_5": 1.0, "groundedness": 1.0},
            (0.9, 0.6),
            ("groundedness",),
            id="points-as-shares-of-the-highest",
        ),
        pytest.param(
            {"hit_at_5": 1.0, "scope_miss_rate": 0.0},
            {"hit_at_5": 1.0, "scope_miss_rate": None},
            (1.0, 0.5),
            ("scope_miss_rate",),
            id="a-value-that-is-gone-is-the-worst",
        ),
        pytest.param(
            {"hit_at_5": None, "abstention_accuracy": 1.0},
            {"hit_at_5": None, "abstention_accuracy": 0.0},
            (1.0, 0.0),
            ("abstention_accuracy",),
            id="whether-it-abstains-where-nothing-else-applies",
        ),
    ],
)
def test_score_of_a_question(
    before: dict[str, float | None], after: dict[str, float | None], scores: tuple[float, float], fell: tuple[str, ...]
) -> None:
    """A score is the mean of the metrics that apply, from 0 to 1, higher for better, whatever the API stops telling."""
    sides = both_sides(make_case_score(values=before), make_case_score(values=after))
    (pair,) = paired_scores(sides, "hybrid", (*PARTS, "groundedness"))
    assert (pair.before, pair.after, pair.fell) == (*map(pytest.approx, scores), fell)


def test_questions_that_are_left_out() -> None:
    """A question that is asked otherwise, is waived, or has no value on either side has no score."""
    case = make_case_score()
    same = both_sides(case, case)
    assert len(paired_scores(same, "hybrid", PARTS)) == 1
    assert not paired_scores(same, "lexical", PARTS)
    assert not paired_scores(same, "hybrid", PARTS, frozenset({("hybrid", "q1")}))
    assert not paired_scores(both_sides(case, replace(case, hash="other")), "hybrid", PARTS)
    assert not paired_scores(both_sides(case, replace(case, case_id="q2")), "hybrid", PARTS)
    assert not paired_scores(same, "hybrid", ("ndcg_at_10",))
    assert not paired_scores(make_comparison(scorecard=make_scorecard(case)), "hybrid", PARTS[2:])
    assert not paired_scores(replace(same, incomparable=("another adapter",)), "hybrid", PARTS)
