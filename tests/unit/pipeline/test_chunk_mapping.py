"""One answer -> how its chunks are read: what somebody said before what is recognised."""

from __future__ import annotations

from typing import Any

import pytest

from raggate.errors import UsageError
from raggate.pipeline.chunk_mapping import Wanted, check_fields, chunks_of, shape_of
from tables import each_row

ROOT = {"hits": [{"where": "/v/Keys.md", "body": "a"}, {"where": "/v/Food.md", "body": "b"}]}


def test_what_somebody_said_counts() -> None:
    """A part that was named takes the place of the one that was recognised; the rest stays."""
    wanted = Wanted(url="", question="q", notes={"Keys.md": (), "Food.md": ()}, fields={"text": "where"})
    shape = shape_of(ROOT, wanted)
    assert shape is not None
    assert chunks_of(shape, ROOT, wanted) == {
        "list": "hits",
        "rel_path": "where",
        "path_prefix": "/v/",
        "text": "where",
    }


@each_row(
    ("metas", "paths"),
    [
        ([{"Header 1": "A"}, {"Header 1": "B", "Header 2": "C"}], ['meta."Header 1"', 'meta."Header 2"']),
        ([{"h2": "B", "h1": "A"}, {}], ["meta.h1", "meta.h2"]),
        ([{"header": "B", "parent_headers": ["A"]}, {"header": "A", "parent_headers": []}], None),
        ([{"headings": ["A"]}, {"headings": ["B"]}], "meta.headings"),
        ([{"html": "x", "height": "y"}, {}], ""),
    ],
)
def test_headings_with_a_field_for_each_level(metas: list[dict[str, Any]], paths: Any) -> None:
    """The fields of the usual header splitters are found in any chunk, outermost first; what somebody said counts."""
    files = ("Keys.md", "Food.md")
    root = [{"path": file, "text": "t", "meta": meta} for file, meta in zip(files, metas, strict=True)]
    wanted = Wanted(url="", question="q")
    shape = shape_of(root, wanted)
    assert shape is not None
    expected = ["meta.parent_headers", "meta.header"] if paths is None else paths
    assert chunks_of(shape, root, wanted).get("heading_path", "") == expected
    said = Wanted(url="", question="q", fields={"heading_path": "text"})
    assert chunks_of(shape, root, said)["heading_path"] == "text"


@each_row(
    ("trails", "expected"),
    [
        ([["Keys", "Spare"], ["Food"]], {"heading_path": "ref.trail"}),
        (["Keys / Spare", "Food"], {"heading_path": "ref.trail", "heading_separator": " / "}),
        (["Keys / Spare / Ring", "Food"], {"heading_path": "ref.trail", "heading_separator": " / "}),
        ([["Keys"], ["Food"]], {}),  # may be the title of the note alone
        (["Keys", "Food"], {}),
        ([["Keys", "Lost"], ["Food"]], {}),
        (["Keys / Spare", "Food\nBread / Water"], {}),
        ([["Keys", 1], ["Food"]], {}),
        ([None, ["Food"]], {}),
    ],
)
def test_headings_of_a_field_of_any_name(trails: list[Any], expected: dict[str, str]) -> None:
    """Headings are recognised by those of the notes, whatever their field is called; a title alone may be anything."""
    files = ("/v/Keys.md", "/v/Food.md")
    root = [{"path": file, "text": "t", "ref": {"trail": trail}} for file, trail in zip(files, trails, strict=True)]
    wanted = Wanted(url="", question="q", notes={"Keys.md": {("Keys",), ("Keys", "Spare")}, "Food.md": {("Food",)}})
    shape = shape_of(root, wanted)
    assert shape is not None
    chunks = chunks_of(shape, root, wanted)
    assert {part: path for part, path in chunks.items() if part.startswith("heading")} == expected


def test_levels_that_only_other_notes_have() -> None:
    """A level that no chunk of this answer has is read all the same where the notes go so deep."""
    root = [{"path": "Keys.md", "meta": {"Header 1": "A"}}, {"path": "Food.md", "meta": {"Header 1": "B"}}]
    wanted = Wanted(url="", question="q", notes={"Keys.md": {("A",), ("A", "B", "C")}, "Food.md": ()})
    shape = shape_of(root, wanted)
    assert shape is not None
    assert chunks_of(shape, root, wanted)["heading_path"] == [f'meta."Header {level}"' for level in (1, 2, 3)]


def test_nothing_names_the_note() -> None:
    """The texts that there are are named, and how one of them is said to be it."""
    wanted = Wanted(url="", question="q")
    shape = shape_of(ROOT, wanted)
    assert shape is not None
    with pytest.raises(UsageError, match="its texts are where and body"):
        chunks_of(shape, ROOT, wanted)


def test_a_part_that_no_chunk_has() -> None:
    """A misspelt part is named with the nearest."""
    with pytest.raises(UsageError, match="did you mean 'rel_path'"):
        check_fields(Wanted(url="", question="q", fields={"relpath": "x"}))


def test_what_stands_around_a_chunk_can_name_its_note() -> None:
    """Where nothing is recognised as the path of a note, the texts of what the chunks stand in are named too."""
    root = {"docs": [{"file": {"stem": "Keys"}, "hits": [{"text": "a"}]}]}
    shape = shape_of(root, wanted := Wanted(url="", question="q", notes={"Keys.md": ()}))
    assert shape is not None
    with pytest.raises(UsageError, match=r"its texts are text and docs\[\*\]\.file\.stem"):
        chunks_of(shape, root, wanted)
    said = Wanted(url="", question="q", fields={"rel_path": "docs[*].file.stem"})
    assert chunks_of(shape, root, said)["rel_path"] == "docs[*].file.stem"
