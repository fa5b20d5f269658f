"""Added cases are told with how they stand."""

from __future__ import annotations

from builders import make_case_score, make_comparison, make_scorecard
from raggate.config.gate_settings import Gate
from raggate.gate import caveats
from raggate.models.comparison import GoldenChanges


def test_added_cases_that_miss_come_first() -> None:
    """Of added cases it is told whether their passage was found; those where it was not are named first."""
    now = make_scorecard(make_case_score("fine"), make_case_score("lost", rank=None))
    comparison = make_comparison(scorecard=now, golden=GoldenChanges(added=("fine", "lost", "never")))
    (told,) = [reason for reason in caveats.differences(comparison, Gate()) if reason.code == "added-cases"]
    assert told.message.endswith("lost (not found), fine (found at rank 1), never (not asked)")
