"""Faults of a ranking: which chunks stand where, and that ranks and scores are those that an API would tell."""

from __future__ import annotations

from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_chunk, make_chunks, make_response
from raggate.models.run import Reference, Response
from raggate.prove import rankings
from tables import each_row

FIVE = make_response(*make_chunks("a.md", "b.md", "c.md", "d.md", "e.md"))
"""Five chunks with the ranks 1 to 5 and the scores 1, 1/2, 1/3, 1/4 and 1/5."""


def paths(response: Response) -> str:
    """Return the notes of an answer in order, a letter each."""
    return "".join(chunk.rel_path[0] for chunk in response.chunks)


@each_row(
    ("response", "order"),
    [
        (rankings.reversed_list(FIVE), "edcba"),
        (rankings.first_demoted(FIVE, 1), "bacde"),
        (rankings.first_demoted(FIVE, 2), "bcade"),
        (rankings.first_demoted(FIVE, 9), "bcdea"),
        (rankings.cut_list(FIVE, 3), "abc"),
        (rankings.cut_list(FIVE, 9), "abcde"),
        (rankings.duplicated(FIVE, 2), "aabbc"),
        (rankings.duplicated(FIVE, 3), "aaabb"),
        (rankings.without(FIVE, lambda chunk: chunk.rel_path in {"a.md", "d.md"}), "bce"),
        (rankings.emptied(FIVE), ""),
    ],
)
def test_order(response: Response, order: str) -> None:
    """Each fault gives the list that is written here."""
    assert paths(response) == order


@each_row("depth", [0, 1, 3, 5, 9])
def test_a_shuffle_stays_within_its_depth(depth: int) -> None:
    """What stands below the depth stays; what stands within it is the same chunks."""
    order = paths(rankings.shuffled_top(FIVE, depth, "q1"))
    assert order[depth:] == "abcde"[depth:]
    assert sorted(order[:depth]) == list("abcde"[:depth])


def test_a_shuffle_depends_on_the_question() -> None:
    """Questions are shuffled otherwise, and each always in the same way."""
    orders = [paths(rankings.shuffled_top(FIVE, 5, f"q{number}")) for number in range(10)]
    assert len(set(orders)) > 5
    assert orders == [paths(rankings.shuffled_top(FIVE, 5, f"q{number}")) for number in range(10)]


def test_ranks_and_scores_are_those_of_the_list() -> None:
    """A list that is cut and turned round has the ranks 1 to 3 and its own scores, the highest first."""
    turned = rankings.ranked(FIVE, FIVE.chunks[2::-1])
    assert paths(turned) == "cba"
    assert [chunk.rank for chunk in turned.chunks] == [1, 2, 3]
    assert [chunk.score_final for chunk in turned.chunks] == [1, 1 / 2, 1 / 3]


def test_what_is_not_told_stays_so() -> None:
    """No rank and no score is made up where the API tells none, and a partial score moves with its chunk."""
    first, second = make_chunk("x", rank=None), make_chunk("y", rank=None, score_final=0.5)
    turned = rankings.ranked(make_response(), (first, second))
    assert [(chunk.rank, chunk.score_final) for chunk in turned.chunks] == [(None, None), (None, 0.5)]


def test_duplicates_have_ids_of_their_own() -> None:
    """No id occurs twice, which an invariant would see at once; an empty id stays empty."""
    copies = rankings.duplicated(FIVE, 2).chunks
    assert [chunk.chunk_id for chunk in copies] == ["c1", "c1-1", "c2", "c2-1", "c3"]
    assert {chunk.text for chunk in copies} == {"Text of the note."}
    nameless = make_response(make_chunk(""), make_chunk(""))
    assert [chunk.chunk_id for chunk in rankings.duplicated(nameless, 2).chunks] == ["", ""]


def test_notes_are_told_by_vault_and_path() -> None:
    """A note of the same path in another vault stays; a chunk without a vault goes by its path."""
    lost = rankings.of_notes(frozenset({("work", "a.md")}))
    assert lost(make_chunk(vault="work"))
    assert not lost(make_chunk(vault="personal"))
    assert lost(make_chunk(vault=None))
    assert not lost(make_chunk(vault=None, rel_path="b.md"))


def test_a_note_that_is_gone_is_not_cited() -> None:
    """What an answer cites of a dropped note goes with it."""
    cited = tuple(
        Reference(vault="work", rel_path=path, heading_path="# A", chunk_index=0) for path in ("a.md", "b.md")
    )
    answer = replace(FIVE, references=cited)
    notes = frozenset({("work", "a.md")})
    assert rankings.without(answer, rankings.of_notes(notes), notes).references == cited[1:]
    assert rankings.emptied(answer).references == ()


@given(st.integers(0, 12), st.integers(0, 12), st.text(max_size=3))
def test_every_fault_takes_lists_of_any_length(length: int, size: int, question: str) -> None:
    """Whatever a list has, ranks are contiguous afterwards, scores fall, and no chunk is made up."""
    response = make_response(*make_chunks(*(f"{number}.md" for number in range(length))))
    for changed in (
        rankings.shuffled_top(response, size, question),
        rankings.first_demoted(response, size),
        rankings.cut_list(response, size),
        rankings.duplicated(response, size + 1),
        rankings.reversed_list(response),
    ):
        assert [chunk.rank for chunk in changed.chunks] == list(range(1, len(changed.chunks) + 1))
        scores = [chunk.score_final or 0.0 for chunk in changed.chunks]
        assert scores == sorted(scores, reverse=True)
        assert {chunk.rel_path for chunk in changed.chunks} <= {chunk.rel_path for chunk in response.chunks}
        assert len(changed.chunks) <= length
