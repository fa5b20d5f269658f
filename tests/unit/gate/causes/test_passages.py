"""Passages: how gold supports and chunks are named, and which of them hold which rank."""

from __future__ import annotations

from builders import make_case, make_chunk, make_labelled, make_result, make_support
from raggate.gate.causes.passages import of_chunk, place, ranked, unmatched
from raggate.models.golden import Support
from raggate.models.run import Chunk
from tables import each_row


@each_row(
    ("support", "vaults", "name"),
    [
        (make_support("d/a.md", "# A"), ("work",), "work/d/a.md › A"),
        (make_support("d/a.md", "# A"), ("work", "home"), "d/a.md › A"),
        (make_support("d/a.md", None, vault="home"), ("work",), "home/d/a.md"),
        (make_support("", None, chunk_id="c9"), (), "chunk c9"),
        (make_support("", None, doc_id="d9"), (), "document d9"),
    ],
)
def test_a_passage_is_named_as_far_as_the_golden_set_tells(
    support: Support, vaults: tuple[str, ...], name: str
) -> None:
    """A passage is named by vault, note and section, or by the id that stands for them."""
    assert place(support, make_case(gold_supports=(support,), vaults=vaults)) == name


@each_row(
    ("chunk", "name"),
    [
        (make_chunk(vault="work"), "work/a.md › A"),
        (make_chunk(heading_path=""), "a.md"),
        (make_chunk(rel_path="", heading_path="", doc_id="d9"), "d9"),
        (make_chunk("c9", rel_path="", heading_path=""), "c9"),
    ],
)
def test_a_chunk_is_named_as_far_as_the_api_tells(chunk: Chunk, name: str) -> None:
    """A chunk is named likewise, or by its document's id or its own."""
    assert of_chunk(chunk) == name


def test_repeated_chunks_hold_no_rank() -> None:
    """Ranks count the chunks that did not stand higher up already; positions are those in the answer."""
    other = make_chunk("other", rel_path="b.md")
    item = make_labelled(make_case(), make_result("q1", other, other, make_chunk("gold")))
    assert [(rank, position) for rank, position, _ in ranked(item)] == [(1, 0), (2, 2)]


def test_unmatched_passages_are_those_that_no_chunk_meets() -> None:
    """Of two passages the one that did not come back is left."""
    case = make_case(gold_supports=(make_support(), make_support("b.md")))
    assert unmatched(make_labelled(case, make_result("q1", make_chunk()))) == (make_support("b.md"),)
