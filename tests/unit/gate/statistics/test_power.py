"""The smallest drop a suite can see."""

from __future__ import annotations

import numpy as np

from chances import multinomial
from raggate.gate.statistics.mcnemar import unconditional
from raggate.gate.statistics.paired import paired_test
from raggate.gate.statistics.power import visible_drop, visible_drop_of_groups
from tables import each_row


@each_row(
    ("n", "drops"),
    # at shares moving anyway of 0, 3 and 11%; a second implementation
    [
        (30, (0.192205, 0.218585, 0.270396)),
        (50, (0.118584, 0.143394, 0.187977)),
        (100, (0.060545, 0.082549, 0.117315)),
        (200, (0.030591, 0.049232, 0.075287)),
        (1000, (0.006170, 0.017035, 0.029318)),
    ],
)
def test_table(n: int, drops: tuple[float, ...]) -> None:
    """A hundred quiet questions see six points, and twelve when one question in nine moves anyway."""
    assert tuple(round(visible_drop(n, moving), 6) for moving in (0, 0.03, 0.11)) == drops


@each_row("n", [20, 50, 100])
@each_row("moving", [0.0, 0.03, 0.11])
def test_the_drop_is_seen_four_times_out_of_five(n: int, moving: float) -> None:
    """The exact test of counts really sees the drop that is stated, in 79 to 95% of all runs: every table added up."""
    lost = moving / 2 + visible_drop(n, moving)
    rows = [(b, c, n - b - c) for c in range(n // 2 + 1) for b in range(c + 1, n - c + 1)]
    chances = multinomial(np.array(rows), np.array([[lost, moving / 2, 1 - lost - moving / 2]]))[:, 0]
    likely = [(b, c, chance) for (b, c, _), chance in zip(rows, chances, strict=True) if chance > 1e-6]
    seen = sum(chance for b, c, chance in likely if unconditional(n, b, c) < 0.05)
    assert 0.79 < seen < 0.95


@each_row("sizes", [[1] * 40, [4] * 10, [36] + [1] * 167, [8, 8, 5, 5] + [2] * 60, [5] * 30 + [4]])
def test_a_drop_that_can_be_seen_is_no_loss_of_the_largest_groups_unseen(sizes: list[int]) -> None:
    """Losing the largest groups whole, which a test does not show, is a drop below the visible one."""
    drop = visible_drop_of_groups(sizes, 0.0)
    for groups in range(1, len(sizes)):
        lost = sorted(sizes, reverse=True)[:groups]
        if paired_test([*(-float(size) for size in lost), *[0.0] * (len(sizes) - groups)]).p >= 0.05:
            assert sum(lost) / sum(sizes) < drop
