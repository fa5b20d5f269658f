"""Who must not get which notes: private ones nobody, the others only those who may see them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case, make_chunk, make_chunks, make_labelled, make_response, make_result
from probed import examples, make_probe, probed
from raggate.gate.invariants.probe_rules import difference
from raggate.models.run import Chunk, Leak, ProbeKind, Reference
from tables import each_row

PRIVATE: dict[str, Any] = {"private": ("home/diary.md",), "config": {"private": {"places": ["home/diary.md"]}}}
DIARY = make_chunk(rel_path="diary.md")
OPEN = make_chunk(rel_path="a.md")


def seen_by(*places: str) -> dict[str, Any]:
    """Build the configuration of a principal."""
    principal = {"headers": {"X-User": "anna"}, "sees": list(places)}
    return {"config": {"ask": {"probes": {"principals": {"anna": principal}}}}}


def test_a_private_note_is_told_wherever_it_comes_back() -> None:
    """Chunks and cited places of the suite and of every probe are looked at, whatever was asked."""
    cited = Reference(vault="home", rel_path="diary.md", heading_path="", chunk_index=0)
    run = probed(
        make_probe("private", OPEN, DIARY, question="My diary", case_id=""),
        make_probe("nonsense", response__references=(cited,), question="Wavu?", case_id=""),
        make_probe("principal", DIARY, principal="anna"),
        suite=(DIARY,),
        **PRIVATE,
    )
    assert sorted(examples("private_withheld", run)) == [
        "'My diary' (hybrid): rank 2 is home/diary.md",
        "'Question q1?' (hybrid as anna): rank 1 is home/diary.md",
        "'Wavu?' (hybrid): cited place 1 is home/diary.md",
        "q1 (hybrid): rank 1 is home/diary.md",
    ]


def test_a_private_text_is_told_in_whatever_place() -> None:
    """A chunk that names a public note, and an answer, are told by their text; other notes are not private."""
    kept, other = Leak(rank=2, note="home/diary.md"), Leak(rank=1, note="work/b.md")
    suite = make_labelled(make_case(), make_result(response=make_response(OPEN, OPEN)), leaks=(other, kept))
    answer = make_probe("principal", OPEN, principal="anna", response__answer="So it is.")
    run = replace(
        probed(
            replace(answer, leaks=(other, replace(kept, rank=0))),
            replace(answer, leaks=(replace(kept, rank=0, part="available_folders"),)),
            replace(answer, leaks=(replace(kept, rank=1, part="chunk_id"),)),
            **PRIVATE,
        ),
        results=(suite, replace(suite, labels=replace(suite.labels, leaks=(other,)))),
    )
    assert sorted(examples("private_withheld", run)) == [
        "'Question q1?' (hybrid as anna): available_folders contains text of home/diary.md",
        "'Question q1?' (hybrid as anna): rank 1, a.md, contains text of home/diary.md in its chunk_id",
        "'Question q1?' (hybrid as anna): the answer contains text of home/diary.md",
        "q1 (hybrid): rank 2, a.md, contains text of home/diary.md",
    ]


@each_row(
    ("note", "expected"),
    [("home/diary.md", []), ("work/b.md", ["q1 (hybrid) as anna: rank 1, a.md, contains text of work/b.md"])],
)
def test_a_text_that_a_principal_may_not_see(note: str, expected: list[str]) -> None:
    """A chunk of a note that they may see is told where its text is of another."""
    answer = replace(make_probe("principal", OPEN, principal="anna"), leaks=(Leak(rank=1, note=note),))
    assert examples("principals_isolated", probed(answer, **seen_by("home"))) == expected


@each_row("path", ["dia\u0301ry.md", "/vault/home/diary.md"])
def test_a_probe_that_brings_a_note_of_no_vault(path: str) -> None:
    """Under another spelling of its path a private note is private still, so a path of no vault is no excuse."""
    run = probed(make_probe("private", make_chunk(rel_path=path), question="My diary", case_id=""), **PRIVATE)
    (example,) = examples("private_withheld", run)
    assert example.endswith(f"{path}, a path that is in no vault, so it may be any note")


@each_row(
    ("chunk", "private", "leaks"),
    [
        pytest.param(make_chunk(rel_path="a.md", vault="work"), "work/a.md", True, id="its-vault-told"),
        pytest.param(make_chunk(rel_path="a.md", vault="home"), "work/a.md", False, id="a-public-one-of-that-path"),
        pytest.param(make_chunk(rel_path="a.md"), "work/a.md", False, id="may-be-the-public-one"),
        pytest.param(make_chunk(rel_path="b.md"), "work/b.md", True, id="only-a-private-one-of-that-path"),
        pytest.param(make_chunk(rel_path="x.md"), "work/a.md", False, id="no-note-at-all"),
    ],
)
def test_which_note_a_chunk_is_of(chunk: Chunk, private: str, *, leaks: bool) -> None:
    """Where the vault is not told, a chunk is private when every note of its path is."""
    run = probed(suite=(chunk,), private=(private,), config={"private": {"places": [private]}})
    assert bool(examples("private_withheld", run)) == leaks


@each_row(
    ("chunk", "sees", "expected"),
    [
        pytest.param(make_chunk(vault="work"), ("work",), [], id="a-vault-they-see"),
        pytest.param(make_chunk(vault="work", rel_path="In/b.md"), ("work/In",), [], id="a-folder"),
        pytest.param(make_chunk(vault="work", rel_path="In/b.md"), ("work/In/b.md",), [], id="a-note"),
        pytest.param(make_chunk(), ("home",), [], id="vault-not-told-and-it-may-be-theirs"),
        pytest.param(make_chunk(vault="work"), ("home",), ["work/a.md"], id="another-vault"),
        pytest.param(
            make_chunk(vault="work", rel_path="Inner/b.md"), ("work/In",), ["work/Inner/b.md"], id="alike-in-name-alone"
        ),
        pytest.param(make_chunk(rel_path="diary.md"), ("work",), ["diary.md"], id="only-others-have-that-path"),
        pytest.param(make_chunk(rel_path="x.md"), ("work", "home"), ["x.md"], id="of-no-note-nobody-may-see-it"),
        pytest.param(make_chunk(vault="work"), (), ["work/a.md"], id="who-sees-nothing"),
    ],
)
def test_a_principal_gets_what_they_may_see(chunk: Chunk, sees: tuple[str, ...], expected: list[str]) -> None:
    """Places count by their parts, and the benefit of the doubt is of a note that they may see."""
    run = probed(make_probe("principal", chunk, principal="anna"), **seen_by(*sees))
    assert examples("principals_isolated", run) == [f"q1 (hybrid) as anna: rank 1 is {path}" for path in expected]


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
