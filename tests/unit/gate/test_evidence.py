"""The evidence: one test of the composite for each mode, and what so many questions could have shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from builders import make_baseline, make_ranked_run, make_run
from raggate.gate.compare import compare
from raggate.gate.evidence import change_interval, composite_tests, holm, significant
from raggate.models.comparison import Comparison
from raggate.models.verdict import CompositeTest
from raggate.scoring.score import score

METRICS = {"hybrid": ("hit_at_5", "mrr_at_10", "ndcg_at_10")}
Ranks = Sequence[int | None]


def compared(before: Ranks, after: Ranks, **fields: Any) -> Comparison:
    """Compare two runs of the same questions by their ranks."""
    old, new = make_ranked_run(*before, **fields), make_ranked_run(*after, **fields)
    return compare(new, score(new, (1, 5, 10)), make_baseline(score(old, (1, 5, 10))), flip_at=5)


def composite_test(before: Ranks, after: Ranks, **fields: Any) -> CompositeTest:
    """Test the questions of two runs."""
    (test,) = composite_tests(compared(before, after, **fields), METRICS)
    return test


@pytest.mark.parametrize(
    ("before", "after", "p", "name", "red"),
    [
        pytest.param([1] * 40, [None] * 3 + [1] * 37, 0.0498, "exact unconditional McNemar", True, id="3-of-40-lost"),
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


def test_facts() -> None:
    """A test tells how many questions it is over, which got worse by what, and by how much their score fell."""
    test = composite_test([1, 1, 2, 1], [2, 1, 1, None])
    assert (test.cases, test.units, test.lost, test.gained) == (4, 4, 2, 1)
    assert test.fell == {"q000": "mrr_at_10", "q003": "hit_at_5"}
    assert (test.before, test.after) == (pytest.approx(0.9276, abs=1e-4), pytest.approx(0.6776, abs=1e-4))
    # of 4 questions one is lost whole: hit_at_5 fell the most together with the others
    assert test.drop == pytest.approx(0.25)


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
    assert (still.p, still.drop, still.fewest_losses) == (1.0, 0.0, 3)
    # Connor's formula without any moves both ways: n = (1.645 + 0.842 sqrt(1 - D))^2 / D
    assert still.visible_drop == pytest.approx(0.0605, abs=1e-4)
    assert churned.visible_drop > still.visible_drop
    assert lost.visible_drop == still.visible_drop
    assert composite_test([1] * 400, [1] * 400).visible_drop < still.visible_drop / 3


@pytest.mark.parametrize(
    ("cases", "fewest", "supports"),
    [(3, None, False), (4, None, True), (5, 4, True)],
)
def test_what_can_never_be_seen(cases: int, fewest: int | None, *, supports: bool) -> None:
    """Below five questions no loss is significant, and below four none is evidence for a tolerance either."""
    test = composite_test([1] * cases, [None] * cases)
    assert (test.fewest_losses, test.supports, significant(test.p, test.drop)) == (fewest, supports, cases > 4)


def test_modes_are_adjusted_together() -> None:
    """One mode of two that lost takes twice the evidence."""
    lexical = make_ranked_run(*[1] * 40, mode="lexical").results
    old, new = (make_run(*lexical, *make_ranked_run(*ranks).results) for ranks in ([1] * 40, [None] * 3 + [1] * 37))
    comparison = compare(new, score(new, (5, 10)), make_baseline(score(old, (5, 10))), flip_at=5)
    tests = composite_tests(comparison, dict.fromkeys(("lexical", "hybrid"), METRICS["hybrid"]))
    assert [(test.mode, test.p, test.adjusted) for test in tests] == [
        ("lexical", 1.0, 1.0),
        ("hybrid", pytest.approx(0.0498, abs=1e-4), pytest.approx(0.0996, abs=1e-4)),
    ]


def test_holm() -> None:
    """The smallest is multiplied by their number, the next by one less, and none comes out below one before it."""
    assert holm([]) == []
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_no_test_without_pairs() -> None:
    """A mode in which no question has a score on both sides has no test, and counts as none of several."""
    comparison = compared([1] * 40, [None] * 3 + [1] * 37)
    metrics = {**METRICS, "lexical": METRICS["hybrid"]}
    assert [test.adjusted for test in composite_tests(comparison, metrics)] == [pytest.approx(0.0498, abs=1e-4)]
    assert composite_tests(comparison, {"hybrid": ()}) == ()


def test_interval_of_counts() -> None:
    """Of questions that are 0 or 1 it is Tango's, which knows that none of 40 moved is no proof that none will."""
    assert change_interval([0.0] * 40, [None] * 40, binary=True) == pytest.approx((-0.0876, 0.0876), abs=1e-4)
    assert change_interval([], [], binary=True) is None


def test_interval_of_values() -> None:
    """Of other values it is that of the t distribution, and there is none where nothing moved."""
    changes = [-0.5, 0.0, 0.0, 0.0]
    # mean -0.125, standard error 0.125, t of 3 degrees of freedom 3.1824
    expected = (-0.125 - 3.1824 * 0.125, -0.125 + 3.1824 * 0.125)
    assert change_interval(changes, [None] * 4, binary=False) == pytest.approx(expected, abs=1e-4)
    assert change_interval([0.0] * 4, [None] * 4, binary=False) is None


def test_interval_of_groups() -> None:
    """Questions of one group are one unit, also where they are counted; a group of one question changes nothing."""
    changes = [-1.0, -1.0, 0.0, 0.0]
    alone = change_interval(changes, ["a", "b", "c", "d"], binary=True)
    together = change_interval(changes, ["a", "a", "b", "b"], binary=True)
    assert alone == change_interval(changes, [None] * 4, binary=True)
    assert together is not None
    assert alone is not None
    assert together[0] < alone[0] < 0


RANKS = st.lists(st.tuples(*[st.sampled_from([None, 1, 2, 5, 6])] * 2), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(RANKS)
def test_it_depends_on_nothing_but_the_data(ranks: list[tuple[int | None, int | None]]) -> None:
    """The order of the questions does not count, and the same data give the same test."""
    before, after = zip(*ranks, strict=True)
    test = composite_test(before, after)
    reverse = composite_test(before[::-1], after[::-1])
    assert test == composite_test(before, after)
    assert (test.p, test.units, test.lost) == (pytest.approx(reverse.p), reverse.units, reverse.lost)
    assert 0.0 <= test.p <= 1.0


@settings(max_examples=60, deadline=None)
@given(st.integers(5, 40), st.data())
def test_one_more_loss_is_never_less_evidence(cases: int, data: st.DataObject) -> None:
    """Of equal losses p falls with every one that is added."""
    lost = data.draw(st.integers(0, cases - 1))
    chances = [composite_test([1] * cases, [None] * count + [1] * (cases - count)).p for count in (lost, lost + 1)]
    assert chances[1] <= chances[0] + 1e-9
