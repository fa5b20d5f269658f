"""How the suites of a step are ranked, and what all of them together end with."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest

from raggate.action.main import _GREEN
from raggate.models.suites import WORST_FIRST, severity, worst
from tables import each_row

ORDER = (130, 70, 2, 3, 4, 1, 0)


def test_the_order() -> None:
    """It is the documented one: what was not measured stands before what got worse, and a pass is last."""
    assert WORST_FIRST == ORDER
    assert worst([0, 1, 3, 0]) == 3
    assert worst([1, 4]) == 4


def test_a_code_that_nobody_knows_is_a_bug() -> None:
    """A code of none of raggate's ends, such as that of a killed process, ranks with internal errors."""
    assert severity(137) == severity(70)
    assert worst([0, 137, 3]) == 137


def test_no_suites_have_no_code() -> None:
    """Nothing measured is not a pass."""
    with pytest.raises(ValueError, match="empty"):
        worst([])


@each_row("choice", _GREEN)
def test_no_leniency_hides_a_suite(choice: str) -> None:
    """Whatever `fail-on` lets through, a step is green only where each of its suites alone would be."""
    green = {0, *_GREEN[choice]}
    for codes in combinations_with_replacement(ORDER, 3):
        assert (worst(codes) in green) == all(code in green for code in codes), codes
