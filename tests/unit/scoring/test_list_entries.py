"""List entries: a retrieved list by rank, without its text."""

from __future__ import annotations

from builders import make_case, make_chunk, make_failure, make_labelled, make_result
from raggate.models.scorecard import ListEntry
from raggate.scoring.list_entries import heading_hash, list_entries, short_hash
from tables import each_row


def test_entries_hold_hashes_scores_and_supports() -> None:
    """Each place has the hashes of note, chunk and heading, the scores as told, and which gold supports it matches."""
    chunk = make_chunk("c1", score_final=0.5, score_vector=0.25)
    item = make_labelled(make_case(), make_result("q1", chunk, make_chunk("c2", rel_path="b.md")))
    first, second = list_entries(item, 10)
    assert first == ListEntry(short_hash("a.md"), short_hash("c1"), 0.5, 0.25, None, (0,), short_hash("A"))
    assert (second.note, second.supports) == (short_hash("b.md"), ())


def test_repeated_chunks_hold_no_place() -> None:
    """A chunk that stands higher up already has no rank, so the entries are by rank; `depth` counts these."""
    chunks = [make_chunk(name) for name in ("a", "a", "b", "c")]
    item = make_labelled(make_case(), make_result("q1", *chunks))
    assert [entry.chunk for entry in list_entries(item, 2)] == [short_hash("a"), short_hash("b")]


def test_no_answer_has_no_entries() -> None:
    """A failed call has no list."""
    assert list_entries(make_labelled(make_case(), make_result("q1", failure=make_failure())), 10) == ()


@each_row(
    ("path", "read"),
    [("# A > ## B", "A > B"), ("A > B", "A > B"), ("## A  >  # B", "A > B"), ("# A", "A"), ("", ""), ("#", "")],
)
def test_a_heading_is_hashed_as_it_is_read(path: str, read: str) -> None:
    """Marks and white space of a heading path make no other place, and a passage without a heading has no hash."""
    assert heading_hash(path) == short_hash(read)


@each_row(("name", "digits"), [("", ""), ("123456789", "cbf43926"), ("é", "0e048d3e")])
def test_short_hash(name: str, digits: str) -> None:
    """A hash is the CRC-32 of the name's UTF-8 in hex; no name has none."""
    assert short_hash(name) == digits


def test_a_name_that_is_no_unicode_has_a_hash() -> None:
    """Half a surrogate pair, which JSON can tell, is hashed like any other name."""
    assert len(short_hash("\ud800")) == 8
