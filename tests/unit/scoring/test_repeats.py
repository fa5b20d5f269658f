"""Questions asked twice: which they are, what counts as another ranking, and what is read back of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from builders import make_chunk, make_failure, make_result
from raggate.models.run import Chunk, Result
from raggate.scoring.repeats import KEY, Repeated, compare, sample

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
A, B = make_chunk("c1", text="one"), make_chunk("c2", text="two")


def test_the_sample_is_the_same_whatever_the_order() -> None:
    """The same questions are chosen however the results came in, and no more than there are."""
    results = [make_result(f"q{number}") for number in range(30)]
    assert sample(results, 10) == sample(results[::-1], 10)
    assert len(sample(results, 10)) == 10
    assert len(sample(results[:3], 10)) == 3
    assert sample(results, 0) == ()


def test_a_golden_set_that_grows_keeps_most_of_the_sample() -> None:
    """One more question replaces at most one of those that are asked twice."""
    results = [make_result(f"q{number}") for number in range(30)]
    before, after = sample(results, 10), sample([*results, make_result("new")], 10)
    assert len({case.case_id for case in before} & {case.case_id for case in after}) >= 9


def test_what_got_no_answer_is_not_asked_again() -> None:
    """A call that failed is nothing to hold a second one against."""
    assert sample([make_result("q1", failure=make_failure()), make_result("q2")], 10) == (make_result("q2"),)


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        pytest.param((A, B), (A, B), 0, id="the same"),
        pytest.param((A, B), (B, A), 1, id="another order"),
        pytest.param((A, B), (A,), 1, id="fewer"),
        pytest.param((), (), 0, id="nothing twice"),
        pytest.param((A, B), (replace(A, score_final=0.3), B), 0, id="other scores"),
        pytest.param((A, B), (replace(A, chunk_id="x"), replace(B, chunk_id="y")), 0, id="ids made up anew"),
        pytest.param((A, B), (replace(A, text="one!"), B), 0, id="another text under the same id"),
        pytest.param((A,), (replace(A, chunk_id="x", rel_path="b.md"),), 1, id="another note"),
    ],
)
def test_what_is_another_ranking(first: tuple[Chunk, ...], second: tuple[Chunk, ...], differ: int) -> None:
    """Two rankings are one by their ids, or by what their chunks are; scores do not matter."""
    repeated = compare([make_result("q1", *first)], [make_result("q1", *second)])
    assert (repeated.asked, repeated.failed, repeated.differ) == (1, 0, differ)
    assert repeated.questions == (("q1 (hybrid)",) if differ else ())


def test_a_second_call_that_fails_is_counted_apart() -> None:
    """It is neither the same nor another ranking."""
    pair: tuple[Result, ...] = (make_result("q1", A), make_result("q2", A))
    repeated = compare(pair, (make_result("q1", failure=make_failure()), make_result("q2", B)))
    assert (repeated.asked, repeated.failed, repeated.compared, repeated.differ) == (2, 1, 1, 1)


@given(JSON | st.fixed_dictionaries({KEY: JSON}))
def test_nothing_that_is_stored_does_harm(stored: object) -> None:
    """Whatever stands in a file is read as counts that fit each other, or as nothing."""
    repeated = Repeated.of(stored)
    if repeated is not None:
        assert repeated.asked >= repeated.failed + repeated.differ >= 0
        assert len(repeated.questions) <= repeated.differ


def test_it_is_read_as_it_was_stored() -> None:
    """A fingerprint gives back what was put into it."""
    repeated = Repeated(asked=10, failed=1, differ=2, questions=("q1 (hybrid)", "q2 (hybrid)"))
    assert Repeated.of({KEY: repeated.stored()}) == repeated
