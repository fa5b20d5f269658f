"""What the ranked metrics share: ranks without duplicates, first and last hit, gains that are gained once."""

from __future__ import annotations

import pytest

from builders import make_support
from raggate.scoring.metrics.ranking import gains
from tables import each_row


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
