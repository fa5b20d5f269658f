"""What is asked of a golden set, one by one: the same as the list of all pairs."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.config.retrieval_modes import asked_in
from raggate.models.golden import Case
from raggate.models.questions import Questions

MODES = ("lexical", "vector", "hybrid")
NAMED = st.none() | st.lists(st.sampled_from(MODES), max_size=2, unique=True).map(tuple)


@given(st.lists(NAMED, max_size=8), st.lists(st.sampled_from(MODES), max_size=4), st.slices(10))
def test_is_the_list_of_all_pairs(named: list[tuple[str, ...] | None], modes: list[str], part: slice) -> None:
    """Pairs, their number, each by its position from either end, and slices are those of the list."""
    cases = [Case(id=str(number), question="?", answerable=True, modes=own) for number, own in enumerate(named)]
    pairs = [(case, mode) for mode in dict.fromkeys(modes) for case in cases if asked_in(case.modes, mode)]
    questions = Questions(cases, modes)
    assert list(questions) == pairs
    assert len(questions) == len(pairs)
    assert [questions[place] for place in range(-len(pairs), len(pairs))] == pairs * 2
    assert list(questions[part]) == pairs[part]
