"""What one answer filled, and what the fields that are empty cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from builders import make_case, make_chunk, make_config, make_failure, make_labelled, make_result
from mapped_api import example
from raggate.base.errors import ExitCode
from raggate.gate.filled_fields import examine, prefix_of
from raggate.inputs.notes import Notes
from raggate.models.golden import Vault
from raggate.models.run import Chunk
from raggate.models.service import IndexState
from raggate.models.smoke_test import SmokeTest
from tables import each_row

NOTES = Vault(
    directories={"work": Path("work")}, texts={("work", "a.md"): "# A\n\nText of the note.\n"}, notes={}, hash=""
)


def examined(*chunks: Chunk, failure: Any = None, **keys: Any) -> SmokeTest:
    item = make_labelled(make_case(), make_result("q1", *chunks, failure=failure))
    return examine(Notes(NOTES).label(item), make_config(**keys), NOTES)


def costs(test: SmokeTest) -> dict[str, str]:
    return {field.name: field.cost for field in test.fields if field.cost}


@each_row(
    ("chunk", "field", "cost"),
    [
        ({"heading_path": ""}, "heading_path", "only labels of whole notes can"),
        ({"text": ""}, "text", "labels with snippets never match"),
        ({"rel_path": ""}, "rel_path", "no label of a note can match"),
        ({"score_final": None}, "score", "nor explain a loss by them"),
    ],
)
def test_an_empty_field_says_what_it_costs(chunk: dict[str, Any], field: str, cost: str) -> None:
    """A field that no chunk tells has its cost, which one that any chunk tells has not."""
    assert cost in costs(examined(make_chunk(**{"score_final": 0.5, **chunk})))[field]
    both = examined(make_chunk(**{"score_final": 0.5, **chunk}), make_chunk("c2", score_final=0.4))
    assert field not in costs(both)


@each_row(
    ("documents", "chunks", "missing"),
    [
        (65, 510, {}),
        (0, 0, {}),
        (65, None, {"chunks": "fewer passages"}),
        (None, 510, {"documents": "an index that lacks notes"}),
        (None, None, {"documents": "an index that lacks notes"}),
    ],
)
def test_a_missing_count_says_what_it_costs(documents: int | None, chunks: int | None, missing: dict[str, str]) -> None:
    """What the API tells of its index is shown beside its fields; a count that it does not tell has its cost."""
    item = make_labelled(make_case(), make_result("q1", make_chunk(score_final=0.5)))
    index = IndexState(healthy=True, indexing=False, documents=documents, chunks=chunks)
    test = examine(Notes(NOTES).label(item), make_config(), NOTES, index)
    told = {field.name: field for field in test.fields if field.name in ("documents", "chunks")}
    assert [field.first for field in told.values()] == ["" if n is None else str(n) for n in (documents, chunks)]
    assert {name for name, field in told.items() if field.cost} == missing.keys()
    assert all(words in told[name].cost for name, words in missing.items())


@each_row(
    ("heading_path", "separator"),
    [("A / B", "' / '"), ("# A › B", "' › '"), ("# A > B", "' > '"), ("A > B", ""), ("# A > ## B", ""), ("B", "")],
)
def test_headings_that_are_not_split_are_named(heading_path: str, separator: str) -> None:
    """What sets the headings of a note apart is named where they came as one, by whatever the configuration says."""
    notes = replace(NOTES, texts={("work", "a.md"): "# A\n\n## B\n\nText of the note.\n"})
    item = make_labelled(make_case(), make_result("q1", make_chunk(heading_path=heading_path)))
    hints = " ".join(examine(Notes(notes).label(item), make_config(), notes).hints)
    assert (f"the API separates headings by {separator}" in hints) is bool(separator)


def test_places_are_those_of_the_configuration() -> None:
    """Of a mapped API every field has the path in the whole answer that it is read from."""
    test = examined(make_chunk(), ask=example())
    sources = {field.name: field.source for field in test.fields}
    assert sources["rel_path"] == "data.hits[*].meta.file"
    assert sources["vault"] == "path_prefix"
    assert sources["score_vector"] == ""


@each_row(
    ("chunk", "said"),
    [
        ({"rel_path": "/data/a.md"}, "chunks.path_prefix '/data/' removes what comes before"),
        ({"rel_path": ""}, "notes_exist: 1 of 1 passage without the path of a note"),
        ({"rel_path": "b.md"}, "notes_exist: 1 of 1 passage: the vault has no note with such a path: 'b.md'"),
        (
            {"heading_path": "# Zebra"},
            "headings_exist: 1 of 1 passage: headings that the note does not have, such as a.md",
        ),
        ({"text": "zebras graze on wide plains of grass"}, "text_in_note: 1 of 1 passage: a text that is not in"),
    ],
)
def test_what_the_notes_say_against_it_breaks_the_gate(chunk: dict[str, Any], said: str) -> None:
    """What an invariant would refuse is exit 4, a hint where it only warns, and nothing where it is off."""
    names = ("notes_exist", "headings_exist", "text_in_note")
    error, warn, off = (
        examined(make_chunk(**chunk), invariants=dict.fromkeys(names, level)) for level in ("error", "warn", "off")
    )
    assert [test.exit_code for test in (error, warn, off)] == [ExitCode.INVARIANT, ExitCode.PASS, ExitCode.PASS]
    assert [any(said in text for text in texts) for texts in (error.broken, warn.hints, off.hints)] == [
        True,
        True,
        False,
    ]


@each_row(
    ("test", "said"),
    [
        (examined(), "the list of passages is empty"),
        (examined(failure=make_failure()), "no answer within 60 s"),
    ],
)
def test_nothing_to_look_at_is_no_pass(test: SmokeTest, said: str) -> None:
    """A failed call and an empty list tell nothing: exit 3."""
    assert test.exit_code == ExitCode.CANNOT_TELL
    assert said in test.unknown[0]


@each_row(
    ("strange", "expected"),
    [
        (["/v/x/a.md", "/v/x/d/b.md"], "/v/x/"),
        (["/v/x/a.md", "/v/y/a.md"], None),
        (["/v/x/a.md", "/v/x/without text.md"], "/v/x/"),
        (["/v/x/a.md", "/elsewhere.md"], None),
        (["xa.md"], None),
        (["/" * 10_000 + "a.md"], None),
    ],
)
def test_a_prefix_is_told_where_one_fits_all(strange: list[str], expected: str | None) -> None:
    """Paths that all end in a note behind the same beginning have that beginning as their prefix."""
    assert prefix_of(strange, {"a.md", "d/b.md"}) == expected
