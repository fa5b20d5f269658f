"""What all answers of a run show together: gathered in one pass, whatever looks at it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_chunks,
    make_labelled,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.gate import compare
from raggate.gate.overview import AnswerCounts
from raggate.models.run import LabelledResult


class Counted(tuple[LabelledResult, ...]):
    """Results that count how often somebody goes through them."""

    passes = 0

    def __iter__(self) -> Iterator[LabelledResult]:
        type(self).passes += 1
        return super().__iter__()


def test_comparing_goes_through_a_run_once() -> None:
    """Where nothing flipped and something matches, one pass through the answers is all that comparing takes."""
    items = [make_labelled(make_case(name), make_result(name, *make_chunks("a.md"))) for name in ("q1", "q2")]
    card = make_scorecard(make_case_score("q1", {"hit_at_5": 1.0}), make_case_score("q2", {"hit_at_5": 1.0}))
    Counted.passes = 0
    compare.compare(replace(make_run(*items), results=Counted(items)), card, make_baseline(card), flip_at=5)
    assert Counted.passes == 1


@given(st.lists(st.tuples(st.sampled_from(("hybrid", "bm25")), st.integers(0, 5)), max_size=40))
def test_answers_are_counted_in_any_order(asked: list[tuple[str, int]]) -> None:
    """Each answer counts for its question and mode, in whatever order they come; one of no question counts nowhere."""
    cases = [make_case(f"q{number}") for number in range(5)]
    counts = AnswerCounts(cases)
    for mode, number in asked:
        counts.add(make_labelled(make_case(f"q{number}"), make_result(f"q{number}", mode=mode)))
    assert counts.by_mode == {mode: bytes(asked.count((mode, number)) for number in range(5)) for mode in dict(asked)}
