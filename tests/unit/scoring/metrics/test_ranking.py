"""What the ranked metrics share: ranks without duplicates, first and last hit, gains that are gained once."""

from __future__ import annotations

from math import log2

import pytest

from builders import make_case, make_ranked, make_support
from raggate.models.golden import Case
from raggate.scoring.metrics.ranking import complete_at, discounted, first_hit, gains, labelled, ranking
from tables import each_row


@each_row(
    ("matches", "duplicates", "expected"),
    [
        pytest.param([(0,), (), (1,)], [], [(0,), (), (1,)], id="no duplicates"),
        pytest.param([(0,), (0,), (1,)], [1], [(0,), (1,)], id="what follows a duplicate moves up"),
        pytest.param([(), (), (0,)], [1], [(), (0,)], id="a duplicate that matches nothing has no rank either"),
        pytest.param([(0,), (0,), (0,)], [1, 2], [(0,)], id="only the first of three is kept"),
        pytest.param([], [], [], id="empty list"),
    ],
)
def test_ranking(matches: list[tuple[int, ...]], duplicates: list[int], expected: list[tuple[int, ...]]) -> None:
    """Chunks that stood higher up already have no rank."""
    assert ranking(make_ranked(matches, grades=(1, 1), duplicates=duplicates)) == expected


@each_row(
    ("case", "expected"),
    [
        pytest.param(make_case(), True, id="answerable with supports"),
        pytest.param(make_case(answerable=False), False, id="unanswerable"),
        pytest.param(make_case(gold_supports=()), False, id="without supports"),
    ],
)
def test_labelled(case: Case, *, expected: bool) -> None:
    """Retrieval can be scored where the case says what should be found."""
    assert labelled(case) is expected


@each_row(
    ("ranks", "expected"),
    [
        pytest.param([(0,)], 1, id="at once"),
        pytest.param([(), (), (1, 0), (0,)], 3, id="third"),
        pytest.param([(), ()], None, id="never"),
        pytest.param([], None, id="empty list"),
    ],
)
def test_first_hit(ranks: list[tuple[int, ...]], expected: int | None) -> None:
    """The first hit is counted from 1, and None says there is none."""
    assert first_hit(ranks) == expected


@each_row(
    ("ranks", "groups", "expected"),
    [
        pytest.param([(0,), (1,)], [(0, 1)], 2, id="both seen at the second"),
        pytest.param([(0,), (), (), (1,)], [(0, 1)], 4, id="both seen at the fourth"),
        pytest.param([(0,), ()], [(0, 1)], None, id="half is not enough"),
        pytest.param([(0, 1)], [(0, 1)], 1, id="one chunk holds both"),
        pytest.param([(0,), (2,), (1,)], [(0, 1), (2,)], 2, id="the other group suffices"),
        pytest.param([(0,), (1,), (2,)], [(0, 1), (2,)], 2, id="the first group suffices"),
        pytest.param([(2,), (0,), (0,)], [(0, 1)], None, id="supports of no group do not count"),
        pytest.param([], [(0,)], None, id="empty list"),
    ],
)
def test_complete_at(ranks: list[tuple[int, ...]], groups: list[tuple[int, ...]], expected: int | None) -> None:
    """The depth is where every support of at least one group has been seen: OR of groups, AND within a group."""
    assert complete_at(ranks, groups) == expected


@each_row(
    ("ranks", "grades", "expected"),
    [
        pytest.param([(0,), (), (1,)], [2, 3], [2, 0, 3], id="one each"),
        pytest.param([(0,), (0,), (0,)], [2], [2, 0, 0], id="pieces of one section gain once"),
        pytest.param([(0, 1), (0, 1)], [1, 3], [3, 1], id="the better of two first"),
        pytest.param([(0, 1), (0,)], [1, 3], [3, 1], id="the other one is left for the next"),
        pytest.param([(), ()], [1], [0, 0], id="nothing"),
        pytest.param([], [1], [], id="empty list"),
    ],
)
def test_gains(ranks: list[tuple[int, ...]], grades: list[int], expected: list[int]) -> None:
    """A support is gained once, and a chunk gains at most one."""
    assert gains(ranks, [make_support(f"{index}.md", grade=grade) for index, grade in enumerate(grades)]) == expected


@each_row("order", [(0, 1), (1, 0)], ids=["outer labelled first", "inner labelled first"])
def test_gains_of_nested_anchors(order: tuple[int, int]) -> None:
    """A chunk in a section and in the one around it gains the inner one, so that another can gain the outer one."""
    supports = [make_support(heading_path="# A"), make_support(heading_path="# A > ## B")]
    outer, inner = order.index(0), order.index(1)
    # the first chunk lies in both, the second only in the outer one
    assert gains([(0, 1), (outer,)], [supports[index] for index in order]) == [1, 1]
    assert gains([(0, 1), (inner,)], [supports[index] for index in order]) == [1, 0]


@each_row(
    ("values", "expected"),
    [
        pytest.param([1], 1.0, id="first rank"),
        pytest.param([0, 1], 1 / log2(3), id="second rank"),
        pytest.param([3, 0, 2], 3 + 2 / 2, id="log2(4) is 2"),
        pytest.param([0] * 6 + [1], 1 / 3, id="log2(8) is 3"),
        pytest.param([], 0.0, id="empty"),
    ],
)
def test_discounted(values: list[float], expected: float) -> None:
    """Gains are discounted by log2(rank + 1)."""
    assert discounted(values) == pytest.approx(expected, abs=1e-15)
