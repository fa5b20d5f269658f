"""What means nothing must change nothing: fewer chunks, other letters, another index; and headings, and nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_chunk, make_chunks
from probed import examples, make_probe, probed
from raggate.gate.invariants.metamorphic import difference
from raggate.models.probe import ProbeKind
from raggate.models.run import Chunk
from tables import each_row

A, B, C = make_chunks("a.md", "b.md", "c.md")


def renamed(*chunks: Chunk) -> tuple[Chunk, ...]:
    """Return the same chunks under other ids, as an index that was made anew may have them."""
    return tuple(replace(chunk, chunk_id=f"new-{chunk.chunk_id}") for chunk in chunks)


@each_row(
    ("before", "now", "expected"),
    [
        pytest.param((), (), None, id="both-empty"),
        pytest.param((A, B), (A, B), None, id="the-same"),
        pytest.param((A, B), renamed(A, B), None, id="other-ids-of-the-same"),
        pytest.param((A, B), (B, A), "rank 1 is b.md › # A, before a.md › # A", id="swapped"),
        pytest.param((A, B), renamed(A, C), "rank 2 is c.md › # A, before b.md › # A", id="second-is-another"),
        pytest.param((A, B), (A,), "rank 2 is nothing, before b.md › # A", id="shorter"),
        pytest.param((A,), (A, B), "rank 2 is b.md › # A, before nothing", id="longer"),
    ],
)
def test_difference(before: tuple[Chunk, ...], now: tuple[Chunk, ...], expected: str | None) -> None:
    """Two lists are one ranking when their ids are, or what the chunks are; else the first other rank is named."""
    assert difference(before, now) == expected


@given(st.lists(st.sampled_from((A, B, C)), max_size=4), st.lists(st.sampled_from((A, B, C)), max_size=4))
def test_difference_is_symmetric_and_complete(before: list[Chunk], now: list[Chunk]) -> None:
    """Nothing differs exactly where the lists are equal, whichever of them comes first."""
    assert (difference(before, now) is None) == (before == now) == (difference(now, before) is None)


@each_row(
    ("kind", "name", "suite", "chunks", "expected"),
    [
        pytest.param("prefix", "top_is_prefix", (A, B, C), (A, B), [], id="prefix"),
        pytest.param("prefix", "top_is_prefix", (A,), (A, B), [], id="a-suite-that-was-cut"),
        pytest.param("prefix", "top_is_prefix", (), (), [], id="nothing-at-all"),
        pytest.param(
            "prefix",
            "top_is_prefix",
            (A, B, C),
            (A, C),
            ["q1 (hybrid), asked for fewer: rank 2 is c.md › # A, before b.md › # A"],
            id="no-prefix",
        ),
        pytest.param(
            "prefix",
            "top_is_prefix",
            (A, B),
            (),
            ["q1 (hybrid), asked for fewer: rank 1 is nothing, before a.md › # A"],
            id="nothing-of-fewer",
        ),
        pytest.param("spelling", "spelling_ignored", (A, B), (A, B), [], id="spelling"),
        pytest.param(
            "spelling",
            "spelling_ignored",
            (A, B),
            (B, A),
            ["q1 (hybrid), other capitals: rank 1 is b.md › # A, before a.md › # A"],
            id="spelling-counts",
        ),
        pytest.param("reindex", "reindex_idempotent", (A, B), renamed(A, B), [], id="indexed-again"),
        pytest.param(
            "reindex",
            "reindex_idempotent",
            (A,),
            (B,),
            ["q1 (hybrid), after indexing again: rank 1 is b.md › # A, before a.md › # A"],
            id="another-index",
        ),
    ],
)
def test_what_is_held_against_the_suite(
    kind: ProbeKind, name: str, suite: tuple[Chunk, ...], chunks: tuple[Chunk, ...], expected: list[str]
) -> None:
    """A changed question is held against the suite's own answer, where asking it again unchanged gives the same."""
    again = make_probe(kind, *chunks, variant="capitals")
    assert examples(name, probed(make_probe("control", *suite), again, suite=suite)) == expected
    assert examples(name, probed(make_probe("control", C, *suite), again, suite=suite)) == []
    assert examples(name, probed(again, suite=suite)) == []


def test_an_index_that_grows_when_it_is_made_again() -> None:
    """As many documents and chunks as before must be there after indexing again; each is told once."""
    again = [make_probe("reindex", A, response__coverage={"docs_processed": 2, "chunks_embedded": 8})] * 2
    run = probed(make_probe("control", A), *again, suite=(A,), coverage={"docs_processed": 2, "chunks_embedded": 4})
    assert examples("reindex_idempotent", run) == ["the index has 8 chunks after indexing again, before 4"]


@each_row(
    ("chunk", "holds"),
    [
        pytest.param(make_chunk(heading_path="# A > ## B", vault="work"), True, id="its-section"),
        pytest.param(make_chunk(heading_path="# A > ## B > ### C", vault="work"), True, id="a-part-of-it"),
        pytest.param(make_chunk(heading_path="# A > ## B"), True, id="vault-not-told"),
        pytest.param(make_chunk(heading_path="", vault="work"), True, id="heading-not-told"),
        pytest.param(make_chunk(heading_path="# A", vault="work"), False, id="what-it-is-a-part-of"),
        pytest.param(make_chunk(heading_path="# A > ## B", vault="home"), False, id="another-vault"),
        pytest.param(make_chunk(heading_path="# A > ## B", rel_path="b.md"), False, id="another-note"),
    ],
)
def test_a_heading_finds_its_own_section(chunk: Chunk, *, holds: bool) -> None:
    """The section, or a part of it, must be among all that came back, at whichever rank."""
    about = {"case_id": "", "question": "Be kind", "note": "work/a.md", "heading_path": "# A > ## B"}
    words = "'Be kind' (hybrid): work/a.md › # A > ## B is not among the 2 chunks that came back"
    assert examples("headings_findable", probed(make_probe("heading", C, chunk, **about))) == ([] if holds else [words])


def test_nonsense_is_abstained_from() -> None:
    """An answer that abstains, or has no chunk, says that nothing was known; any other invents."""
    asked = {"case_id": "", "question": "Wavu telo?"}
    assert examples("nonsense_abstains", probed(make_probe("nonsense", **asked))) == []
    assert examples("nonsense_abstains", probed(make_probe("nonsense", A, response__abstained=True, **asked))) == []
    broken = ["'Wavu telo?' (hybrid): 2 chunks, the first of a.md › # A"]
    assert examples("nonsense_abstains", probed(make_probe("nonsense", A, B, **asked))) == broken
