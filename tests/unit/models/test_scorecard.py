"""Which way is better: one rule for everything that calls a value worse."""

from __future__ import annotations

import math

from raggate.config.gate_settings import Rule
from raggate.models.scorecard import Direction, improvement, oriented
from tables import each_row


@each_row(
    ("direction", "before", "after", "better_by"),
    [
        ("higher", 0.5, 0.75, 0.25),
        ("higher", 0.75, 0.5, -0.25),
        ("lower", 0.5, 0.75, -0.25),
        ("lower", 0.75, 0.5, 0.25),
    ],
)
def test_improvement(direction: Direction, before: float, after: float, better_by: float) -> None:
    """A rise is an improvement where more is better, and a loss where less is."""
    assert improvement(direction, before, after) == better_by


def test_what_is_no_number_is_no_improvement() -> None:
    """A NaN is neither better nor as good as anything."""
    assert not improvement("lower", 0.5, math.nan) >= 0
    assert math.isnan(oriented("higher", math.nan))


def test_a_limit_is_on_the_worse_side() -> None:
    """A floor holds where more is better, a ceiling where less is."""
    rule = Rule(floor=0.25, ceiling=0.75)
    assert (rule.limit("higher"), rule.limit("lower")) == (0.25, 0.75)
