"""What a shard says it has done."""

from __future__ import annotations

from builders import make_case, make_result
from raggate.config.ask_settings import Ask
from raggate.pipeline.shards.receipt import counts


def test_no_call_is_due_in_a_mode_that_a_question_is_not_for() -> None:
    """Of two questions in two modes, one of them for one mode alone, three calls are due each time, and not four."""
    cases = [make_case("q1"), make_case("q2", modes=("vector",))]
    settings = Ask(modes=["hybrid", "vector"], repeat=2)
    became = counts(cases, settings, [make_result("q1")])
    assert (became.planned, became.due, became.asked) == (8, 6, 1)
