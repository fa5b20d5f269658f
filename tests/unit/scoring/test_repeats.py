"""Questions asked several times: which, what counts as another ranking, by how much, and what is read back of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case_score, make_chunk, make_failure, make_labelled, make_result
from raggate.models.run import Chunk
from raggate.scoring.noise import Band
from raggate.scoring.repeats import KEY, Repeated, averaged, compare, sample, times_asked
from tables import each_row

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def compared(*questions: Sequence[tuple[Chunk, ...]]) -> Repeated:
    """Compare the rankings that each question got, at the cut-offs 1 and 5."""
    groups = [[make_labelled(result=make_result("q1", *chunks)) for chunks in rankings] for rankings in questions]
    repeated = compare(groups, [1, 5])
    assert repeated is not None
    return repeated


A, B = make_chunk("c1", text="one"), make_chunk("c2", text="two")


def test_the_sample_is_the_same_whatever_the_order() -> None:
    """The same questions are chosen however the results came in, and no more than there are."""
    results = [make_result(f"q{number}") for number in range(30)]
    assert sample(results, 10) == sample(results[::-1], 10)
    assert len(sample(results, 10)) == 10
    assert len(sample(results[:3], 10)) == 3
    assert sample(results, 0) == ()


@each_row(
    ("first", "second", "differ"),
    [
        pytest.param((A, B), (B, A), 1, id="another order"),
        pytest.param((A, B), (replace(A, score_final=0.3), B), 0, id="other scores"),
        pytest.param((A, B), (replace(A, chunk_id="x"), replace(B, chunk_id="y")), 0, id="ids made up anew"),
        pytest.param((A, B), (replace(A, text="one!"), B), 0, id="another text under the same id"),
        pytest.param((A,), (replace(A, chunk_id="x", rel_path="b.md"),), 1, id="another note"),
    ],
)
def test_what_is_another_ranking(first: tuple[Chunk, ...], second: tuple[Chunk, ...], differ: int) -> None:
    """Two rankings are one by their ids, or by what their chunks are; scores do not matter."""
    repeated = compared([first, second])
    assert (repeated.asked, repeated.failed, repeated.differ, repeated.times) == (1, 0, differ, 2)
    assert repeated.questions == (("q1 (hybrid)",) if differ else ())


def test_how_much_differs_is_by_rank_biased_overlap_and_hits() -> None:
    """Of two questions one comes back with its first two chunks swapped: 0.9 by hand, and its hit at 1 is gone."""
    hit, miss = make_chunk("c1"), make_chunk("c2", rel_path="b.md")
    repeated = compared([(hit, miss), (miss, hit)], [(hit, miss), (hit, miss)])
    assert (repeated.asked, repeated.differ) == (2, 1)
    assert repeated.overlap == pytest.approx(0.9)
    assert repeated.flips == {"hit_at_1": 1, "hit_at_5": 0}


def test_several_answers_are_each_compared_with_the_first() -> None:
    """Asked three times, the second answer is the first and the third has nothing of it: overlap 1 and 0, mean 1/2."""
    repeated = compared([(A,), (A,), (replace(B, rel_path="b.md"),)])
    assert (repeated.asked, repeated.differ, repeated.times) == (1, 1, 3)
    assert repeated.overlap == pytest.approx(0.5)


def test_a_call_that_fails_is_counted_apart() -> None:
    """It is neither the same nor another ranking, whichever of them it is; two answers are enough to compare."""
    failed = make_result("q1", failure=make_failure())
    answer, other = make_result("q1", A), make_result("q1", replace(B, rel_path="b.md"))
    groups = [[answer, failed], [failed, answer], [failed, answer, other], [answer, answer, failed]]
    groups.append([replace(item, mode="other") for item in (answer, answer)])
    repeated = compare([[make_labelled(result=item) for item in group] for group in groups], [1])
    assert repeated is not None
    assert (repeated.asked, repeated.failed, repeated.compared, repeated.differ) == (5, 2, 3, 1)
    assert repeated.modes == 2


def test_a_question_has_the_mean_of_its_answers() -> None:
    """Hits 1, 0 and 0 are a third, what applies to one answer alone counts as there, and ranks are the first one's."""
    first = make_case_score(values={"hit_at_1": 1.0, "scope": None, "none": None}, rank=1)
    again = [
        make_case_score(values={"hit_at_1": 0.0, "scope": 0.5, "none": None}, rank=2),
        make_case_score(values={"hit_at_1": 0.0, "scope": None, "none": None}, rank=None, failure="timeout"),
    ]
    mean = averaged(first, again)
    assert mean.values == {"hit_at_1": pytest.approx(1 / 3), "scope": 0.5, "none": None}
    assert (mean.rank, mean.failure) == (1, None)
    assert averaged(first, []) is first


@given(JSON | st.fixed_dictionaries({KEY: JSON}))
def test_nothing_that_is_stored_does_harm(stored: object) -> None:
    """Whatever stands in a file is read as counts that fit each other, or as nothing."""
    repeated = Repeated.of(stored)
    if repeated is not None:
        assert repeated.asked >= repeated.failed + repeated.differ >= 0
        assert len(repeated.questions) <= repeated.differ


def test_it_is_read_as_it_was_stored() -> None:
    """A fingerprint gives back what was put into it."""
    names = ("q1 (hybrid)", "q2 (hybrid)")
    repeated = Repeated(
        asked=10,
        failed=1,
        differ=2,
        questions=names,
        times=4,
        modes=2,
        overlap=0.25,
        flips={"hit_at_1": 2, "hit_at_10": 0},
    )
    assert Repeated.of({KEY: repeated.stored()}) == repeated
    band = Band(low=0.5, high=0.75, differ=2, cases=9, moved=2)
    repeated = replace(repeated, bands={"hybrid": {"hit_at_1": band}})
    assert Repeated.of({KEY: repeated.stored()}) == repeated


@each_row(
    ("key", "value"),
    [
        ("times", 1),
        ("times", 10**9),
        ("overlap", 1.5),
        ("overlap", float("nan")),
        ("flips", {"hit_at_<b>": 1, "hit_at_1": 3, "mrr": 1}),
    ],
)
def test_numbers_that_cannot_be_are_nothing(key: str, value: object) -> None:
    """A file that somebody edited tells no overlap above 1, no more flips than differ, and no names of its own."""
    assert Repeated.of({KEY: {"asked": 10, "failed": 0, "differ": 2, key: value}}) is None


@each_row(("stored", "times"), [(None, 1), (3, 3), (0, 1), (10**9, 1), (True, 1), ("3", 1)])
def test_how_often_everything_was_asked(stored: object, times: int) -> None:
    """A fingerprint that does not say it, or something that cannot be, is of a run that asked once."""
    assert times_asked({} if stored is None else {"repeat": stored}) == times
